"""From the API into the store: pages, the texts of their template calls, their HTML."""
