import type { JsonValue } from "@toolctrl/foundation/json";
import { describe, expect, test } from "vitest";
import { checkTemplate, renderHtml, renderText, renderUrl } from "../src/templates.ts";
import { nested, thrownBy } from "./thrown-by.ts";

const VARIABLES = {
  trigger: {
    total: 120,
    name: 'O"Br\\ien\nLtd',
    html: `<b title="x">Tom & 'Jo'</b>`,
    url: "a b/../c?d=e&f=ü#g%",
    note: null,
    dots: "..",
    tags: ["new", "vip"],
    address: { city: "Bern" },
    big: "y".repeat(400_000),
    keys: ["__proto__"],
    hostile: JSON.parse('{"__proto__": {"polluted": "yes"}, "constructor": {"constructor": "yes"}}') as JsonValue,
  },
  steps: { "find-lead": { status: 200 } },
};

const text = (template: string): string => renderText(template, VARIABLES);

describe("text", () => {
  test.each([
    ["no placeholder at all", "no placeholder at all"],
    ["{{ trigger.total }} EUR", "120 EUR"],
    ["{{ trigger.name }}", 'O"Br\\ien\nLtd'],
    ["[{{ trigger.nope }}{{ trigger.nope.deeper.x }}{{ nope }}{{ trigger.note }}]", "[]"],
    ["{{ trigger.tags }} {{ trigger.address }}", '["new","vip"] {"city":"Bern"}'],
    ["{{ trigger.tags | join: ', ' }} {{ trigger.tags.size }} {{ trigger.tags[0] }}", "new, vip 2 new"],
    ["{{ steps.find-lead.status }}{{ steps['find-lead'].status }}", "200200"],
    ["{% for tag in trigger.tags %}{{ forloop.index }}{{ tag }};{% endfor %}", "1new;2vip;"],
    ["{% if trigger.total > 100 %}large{% else %}small{% endif %}", "large"],
    ["{% assign x = trigger.total | times: 2 %}{% capture y %}<{{ x }}>{% endcapture %}{{ y }}", "<240>"],
    ["{% raw %}{{ trigger.total }}{% endraw %}", "{{ trigger.total }}"],
    ["{{ 0 | date: '%Y-%m-%d %H:%M' }}", "1970-01-01 00:00"],
    ["{{ trigger.html }}", VARIABLES.trigger.html],
  ])("%j", (template, expected) => {
    expect(text(template)).toBe(expected);
  });
});

describe("where the values go", () => {
  test("in HTML every value is escaped, however it is written, and the template is not", () => {
    const escaped = "&lt;b title=&#34;x&#34;&gt;Tom &amp; &#39;Jo&#39;&lt;/b&gt;";
    for (const template of [
      "{{ trigger.html }}",
      "{% echo trigger.html %}",
      "{% liquid\necho trigger.html %}",
      "{{ trigger.html | strip }}",
    ]) {
      expect(renderHtml(`<p>${template}</p>`, VARIABLES)).toBe(`<p>${escaped}</p>`);
    }
    expect(renderHtml("{{ trigger.tags }}", VARIABLES)).toBe("[&#34;new&#34;,&#34;vip&#34;]");
    expect(renderHtml("{{ trigger.html | raw }}", VARIABLES)).toBe(VARIABLES.trigger.html);
  });

  test("in a URL every value is one component", () => {
    const url = renderUrl("https://x.test/{{ trigger.url }}?q={{ trigger.url }}", VARIABLES);
    const component = encodeURIComponent(VARIABLES.trigger.url);
    expect(url).toBe(`https://x.test/${component}?q=${component}`);
    expect(new URL(url).searchParams.get("q")).toBe(VARIABLES.trigger.url);
    expect(new URL(url).pathname.split("/")).toHaveLength(2);
  });

  test("a value that would take away a segment of the path is refused", () => {
    expect(thrownBy(() => renderUrl("https://x.test/a/{{ trigger.dots }}/b", VARIABLES)).message).toContain("can be part of a URL");
  });

  test("half of a surrogate pair does not break a URL", () => {
    expect(renderUrl("{{ a }}", { a: "\ud800" })).toBe("%EF%BF%BD");
  });
});

describe("what is behind the data", () => {
  test.each([
    "{{ trigger.__proto__.polluted }}",
    "{{ trigger.constructor.constructor }}",
    "{{ trigger['__proto__'].polluted }}",
    "{{ trigger.hostile.__proto__.polluted }}",
    "{{ trigger.hostile.constructor.constructor }}",
    "{{ trigger[trigger.keys].polluted }}",
    "{{ trigger.hostile | json | remove: '{}' }}",
    "{{ trigger.tags | map: '__proto__' | join: '' }}",
    "{{ trigger.tags | where: 'constructor' | join: '' }}",
    "{{ trigger.name.constructor }}{{ trigger.total.constructor }}{{ trigger.tags.constructor }}",
    "{{ constructor }}{{ __proto__ }}{{ toString }}{{ trigger.toString }}",
    "{{ empty.constructor }}{{ blank.__proto__ }}",
    "{% for x in (1..2) %}{{ forloop.__proto__.next }}{{ forloop.constructor }}{{ forloop.__proto__.__proto__ }}{% endfor %}",
    "{% assign __proto__ = trigger.tags %}{% assign constructor = 'x' %}{{ trigger.__proto__ }}",
  ])("%s is empty", (template) => {
    expect(text(template)).toBe("");
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("the language", () => {
  test.each([
    ["{{ a | nope }}", 1, 1, "undefined filter: nope"],
    ["line one\n  {{ a | upcase | nope: 1 }}", 2, 3, "undefined filter: nope"],
    ["a\nb {% nope %}", 2, 3, 'tag "nope" not found'],
    ["{% include 'x' %}", 1, 1, 'tag "include" not found'],
    ["{% render 'x' %}", 1, 1, 'tag "render" not found'],
    ["{% layout 'x' %}", 1, 1, 'tag "layout" not found'],
    ["{% block x %}{% endblock %}", 1, 1, 'tag "block" not found'],
    ["{% increment trigger %}", 1, 1, 'tag "increment" not found'],
    ["{{ a | where_exp: 'x', trigger.name }}", 1, 1, "undefined filter: where_exp"],
    ["{{ a | find_exp: 'x', 'x' }}", 1, 1, "undefined filter: find_exp"],
    ["{{ a", 1, 1, 'output "{{ a" not closed'],
    ["{% if a %}", 1, 1, "tag {% if a %} not closed"],
    ["{{ }}", 1, 4, 'invalid value expression: ""'],
  ])("%j: line %i, column %i, %s", (template, line, column, got) => {
    for (const run of [() => checkTemplate(template), () => text(template)]) {
      const error = thrownBy(run);
      expect(error.code).toBe("WORKFLOW.TEMPLATE");
      expect(error.facts).toMatchObject({ line, column });
      expect(error.message).toBe(`expected a template that renders, got ${got} at line ${line}, column ${column}`);
    }
  });

  test("no filter runs a text as code", () => {
    for (const name of ["where", "reject", "group_by", "has", "find", "find_index"]) {
      expect(thrownBy(() => checkTemplate(`{{ a | ${name}_exp: "x", "x" }}`)).message).toContain("undefined filter");
    }
  });

  test("a template that parses passes the check, whatever the data will be", () => {
    expect(checkTemplate("{{ a.b | append: c | default: 'x' }}{% for d in e %}{{ d }}{% endfor %}")).toBeUndefined();
  });
});

describe("the limits", () => {
  test.each([
    ["more than a megabyte of output", "{{ trigger.big }}{{ trigger.big }}{{ trigger.big }}"],
    [
      "more than a megabyte in a variable",
      "{% capture x %}{% for i in (1..9) %}{{ trigger.big }}{% endfor %}{% endcapture %}{% if x contains 'z' %}{% endif %}",
    ],
    ["one long text many times in a list", "{% for i in (1..400) %}{% assign a = a | push: trigger.big %}{% endfor %}{{ a | upcase }}"],
    ["a list that doubles", "{% for i in (1..60) %}{% assign a = a | push: a | push: a %}{% endfor %}{{ a | join }}"],
    ["a long text in place of each letter", "{{ trigger.big | replace: 'y', trigger.big }}"],
    ["a long width", "{{ 0 | date: '%999999999d' }}"],
    ["a range of a thousand million", "{% for i in (1..1000000000) %}{{ i }}{% endfor %}"],
    ["loops in loops", `${"{% for i in (1..1000) %}".repeat(4)}{{ i }}${"{% endfor %}".repeat(4)}`],
    ["loops in loops that write nothing", `${"{% for i in (1..1000) %}".repeat(4)}${"{% endfor %}".repeat(4)}`],
    ["five megabytes of template", "x".repeat(5_000_000)],
    ["ten thousand brackets", `{{ a${nested(10_000)} }}`],
    ["ten thousand tags in each other", "{% if a %}".repeat(10_000)],
  ])("%s is refused", (_, template) => {
    expect(thrownBy(() => text(template)).code).toBe("WORKFLOW.TEMPLATE");
  });

  test("a megabyte of data is read, more is refused; what is not read does not count", () => {
    const variables = { small: "x", large: "y".repeat(5_000_000) };
    expect(renderText("{{ small }}", variables)).toBe("x");
    expect(thrownBy(() => renderText("{{ large | size }}", variables)).code).toBe("WORKFLOW.TEMPLATE");
  });

  test("data is only read: a template changes nothing", () => {
    const variables = { trigger: { list: [1] } };
    renderText("{% assign trigger = 1 %}{% assign x = trigger.list | push: 2 %}", variables);
    expect(variables).toEqual({ trigger: { list: [1] } });
  });
});

test.each([
  ["text", renderText],
  ["HTML", renderHtml],
  ["a URL, raw", renderUrl],
])("what PostgreSQL cannot store is replaced in %s: half an emoji holds up no mail and no question", (_target, render) => {
  const template = "{{ trigger.name | split: '' | first | raw }}{{ '%00' | url_decode | raw }}";
  expect(render(template, { trigger: { name: "😀 Ann" } })).toBe("\uFFFD\uFFFD");
});
