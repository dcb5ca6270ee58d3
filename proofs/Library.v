(** All of the library: what printed files require. *)

From Certgrad Require Export Sums Curves Piecewise Maxima Functions Tactics Algebra Axes Defined.
