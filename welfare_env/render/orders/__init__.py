"""Orders on a board: parsing, marks and legend."""

from welfare_env.render.orders.layer import ReadOrder, Refused, marks_layer, orders_layer, read_order, read_orders

__all__ = ["ReadOrder", "Refused", "marks_layer", "orders_layer", "read_order", "read_orders"]
