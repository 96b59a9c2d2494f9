"""Tables, charts and pages made from stored measurements."""
