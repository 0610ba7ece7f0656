"""Vector indexes: partitioned inner-product search over normalized vectors."""
