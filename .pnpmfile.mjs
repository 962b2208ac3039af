// The Prisma client names the CLI and the compiler as optional peers and needs neither at run time. As they are in the workspace, pnpm
// would bring both into the image, with all that they need; and every update of the compiler would make another client of it.
export const hooks = {
  readPackage(manifest) {
    if (manifest.name === "@prisma/client") {
      delete manifest.peerDependencies;
      delete manifest.peerDependenciesMeta;
    }
    return manifest;
  },
};
