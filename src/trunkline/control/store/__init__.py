"""Durable things: the record tables, their migrations and the engines that hold them."""
