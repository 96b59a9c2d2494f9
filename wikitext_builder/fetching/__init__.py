"""From the API into the store: pages, the expansions of their templates, their rendered HTML."""
