// What the build of the integration writes.
