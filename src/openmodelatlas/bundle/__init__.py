"""The atlas on disk: canonical serialisation, atomic store, published schema, and the read-only :class:`Atlas`."""
