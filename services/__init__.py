"""The durable agent service."""
