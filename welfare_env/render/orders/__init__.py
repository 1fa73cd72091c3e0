"""Orders on a board: what is read of them, their marks, and the legend that explains these."""

from welfare_env.render.orders.layer import ReadOrder, Refused, marks_layer, orders_layer, read_order, read_orders

__all__ = ["ReadOrder", "Refused", "marks_layer", "orders_layer", "read_order", "read_orders"]
