"""Orders on a board: parsing, marks and legend."""

from welfare_env.render.orders.layer import ReadOrder, Refused, orders_layer, read_order, read_orders

__all__ = ["ReadOrder", "Refused", "orders_layer", "read_order", "read_orders"]
