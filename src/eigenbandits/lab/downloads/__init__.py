"""Public data over HTTP: fetched once, checked by checksums, resumed where it stopped."""
