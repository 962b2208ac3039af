import { isCodedError } from "@toolctrl/foundation/errors";
import type { JsonObject, JsonValue } from "@toolctrl/foundation/json";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseAddress, renderMail } from "../src/emails.ts";
import { renderTemplate } from "../src/emails/render-template.ts";

const FROM = { defaultFrom: "noreply@toolctrl.test" };
const text = (template: string, data: JsonValue): string => renderTemplate(template, data as JsonObject, { field: "text", target: "text" });
const html = (template: string, data: JsonValue): string => renderTemplate(template, data as JsonObject, { field: "html", target: "html" });

function codeOf(run: () => unknown): string {
  try {
    run();
    return "no error";
  } catch (error) {
    return isCodedError(error) ? error.code : String(error);
  }
}

test.each(["a@x.test", "first.last+tag@sub.example.test", "o'hara@x.test", "x@localhost", "a@xn--bcher-kva.test"])(
  "%s is one plain address",
  (address) => {
    expect(parseAddress(address, "to")).toBe(address);
  },
);

test("an international domain comes back in ASCII, lowercase", () => {
  expect(parseAddress("a@Bücher.test", "to")).toBe("a@xn--bcher-kva.test");
});

test.each([
  "a@x.test, b@evil.test",
  "a@x.test;b@evil.test",
  "a@x.test b@evil.test",
  "a@x.test\r\nBcc: b@evil.test",
  "a@x.test\n",
  "a@x.te\r\nst",
  "a@x%2Etest",
  " a@x.test",
  "friends:a@x.test;",
  "<a@x.test>",
  '"Ann" <a@x.test>',
  '"a@evil.test,"@x.test',
  "a@evil.test@x.test",
  "a(comment)@x.test",
  "a@x.test\u0000",
  "a@x\uFF0Ctest",
  "a@[127.0.0.1]",
  "a@",
  "@x.test",
  "a",
  "",
  `${"a".repeat(65)}@x.test`,
  `a@${"x".repeat(64)}.test`,
])("%j is refused as an address, and the error does not repeat it", (address) => {
  expect(codeOf(() => parseAddress(address, "to"))).toBe("MAIL.ADDRESS");
  expect(() => parseAddress(address, "to")).not.toThrow(/evil/);
});

test("whatever is accepted as an address holds no separator, no line break and exactly one @", () => {
  const pieces = fc.array(
    fc.constantFrom(
      "a",
      "@",
      "x.test",
      ",",
      ";",
      ":",
      "<",
      ">",
      '"',
      "(",
      ")",
      " ",
      "\r",
      "\n",
      "\t",
      "\u0000",
      "é",
      "\uFF20",
      "\\",
      "%2C",
    ),
    { maxLength: 8 },
  );
  fc.assert(
    fc.property(pieces, (parts) => {
      const given = parts.join("");
      if (codeOf(() => parseAddress(given, "to")) !== "no error") return;
      expect(parseAddress(given, "to")).toMatch(/^[^\s\p{Cc},;:<>"()@\\]+@[a-z0-9.-]+$/u);
    }),
    { numRuns: 3000 },
  );
});

test("in HTML every value is escaped, in text none is", () => {
  const data = { name: `<script>alert("1")</script> & 'co'`, list: ["<b>"], n: 3 };
  expect(html("<p>{{ name }} {{ list }} {{ n }}</p>", data)).toBe(
    "<p>&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt; &amp; &#39;co&#39; &lt;b&gt; 3</p>",
  );
  expect(text("{{ name }}", data)).toBe(data.name);
});

test("a value put into HTML never brings a tag or an attribute of its own", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (value) => {
      expect(html('<a title="{{ v }}">{{ v }}</a>', { v: value }).match(/[<>"]/g)).toEqual(["<", '"', '"', ">", "<", ">"]);
    }),
  );
});

test.each([
  "{{ trigger.__proto__.polluted }}",
  "{{ trigger.constructor.constructor }}",
  "{{ trigger.constructor.name }}",
  "{{ trigger.toString }}",
  "{{ trigger.list.constructor }}",
  "{{ trigger.name.constructor }}",
  "{{ __proto__.polluted }}",
  "{{ constructor }}",
  "{{ trigger['__proto__']['polluted'] }}",
  "{{ trigger.missing.deeper }}",
])("%s is empty", (template) => {
  expect(text(template, { trigger: { name: "x", list: [1] } })).toBe("");
});

test("an own __proto__ key in the data is empty too, and no prototype is changed", () => {
  const data = JSON.parse('{"trigger":{"__proto__":{"polluted":"yes"},"a":1},"__proto__":{"polluted":"yes"}}') as JsonObject;
  expect(text("{{ trigger.__proto__.polluted }}{{ polluted }}{{ trigger.polluted }}{{ trigger.a }}", data)).toBe("1");
  expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
});

test.each([
  // Both exist where the tests run.
  "{% include 'package.json' %}",
  "{% render 'README.md' %}",
  "{% include '/etc/passwd' %}",
  "{% layout '../../package.json' %}",
  "{% for %}",
  "{{ 'x' | no_such_filter }}",
])("%s is a template error: there is no file to include, and mistakes are loud", (template) => {
  expect(codeOf(() => text(template, {}))).toBe("MAIL.TEMPLATE");
});

test.each([
  ["endless loops", "{% for i in (1..100000) %}{% for j in (1..100000) %}x{% endfor %}{% endfor %}"],
  ["huge ranges", "{% assign a = (1..1000000000) %}{{ a | size }}"],
  ["doubling strings", "{% assign s = 'xxxxxxxxxxxxxxxx' %}{% for i in (1..60) %}{% assign s = s | append: s %}{% endfor %}{{ s }}"],
  ["long output", `{% for i in (1..20000) %}${"x".repeat(100)}{% endfor %}`],
])("%s end in a template error, soon", (_what, template) => {
  expect(codeOf(() => text(template, {}))).toBe("MAIL.TEMPLATE");
});

test("a mail's recipients are each kept once, and its sender falls back to the product's", () => {
  expect(renderMail({ to: ["a@x.test", "b@x.test", "a@X.test"], subject: "Hi {{ n }}", text: "{{ n }}", data: { n: 1 } }, FROM)).toEqual({
    from: "noreply@toolctrl.test",
    replyTo: null,
    to: ["a@x.test", "b@x.test"],
    subject: "Hi 1",
    text: "1",
    html: null,
  });
});

test("a payload that is no mail is refused with the paths that are wrong", () => {
  expect(codeOf(() => renderMail({ to: 1, subject: "" }, FROM))).toBe("RECEIVER.PAYLOAD");
  expect(codeOf(() => renderMail({ to: "a@x.test", subject: "x", text: { path: "/etc/passwd" } }, FROM))).toBe("RECEIVER.PAYLOAD");
  expect(codeOf(() => renderMail({ to: "a@x.test", subject: "x" }, FROM))).toBe("RECEIVER.PAYLOAD");
});
