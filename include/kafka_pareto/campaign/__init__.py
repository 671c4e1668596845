"""A campaign's artifacts: keys, tables, records, and typed access to them."""
