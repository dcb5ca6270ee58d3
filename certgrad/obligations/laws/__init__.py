"""Laws of the calculus: functions, matrices, products, order, recurrences, solutions of equations."""
