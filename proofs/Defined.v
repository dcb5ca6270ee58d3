(** Where programs are defined: conditions by form, each part at the entries that it is about. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions Tactics Derivatives Algebra Laws Axes Labels.
Open Scope R_scope.

(** The same condition, said in another order. *)
Ltac said_otherwise :=
  split_or; first [ left; first [assumption | apply not_eq_sym; assumption]
                  | right; first [assumption | apply not_eq_sym; assumption] ].

Ltac condition_law :=
  first
    [ index_law
    | side
    | solve [said_otherwise]
    | (rewrite floor_IZR; reflexivity)
    | (progress values; side)
    | (left; solve [condition_law])
    | (right; solve [condition_law]) ].

(** An index is inside its range. *)
Ltac index_inside :=
  first
    [ index_law
    | solve [rewrite ?Z.div_1_r, ?Z.mul_1_l, ?Z.mul_1_r; quotients_of_products; place_in_range]
    | (hypotheses; index_law)
    | (hypotheses; split_guards; index_law) ].

Ltac choose :=
  lazymatch goal with |- if ?c then _ else _ => decide_bool c; reduce; try absurd_index end.

Ltac defined_everywhere :=
  cbv beta;
  lazymatch goal with
  | |- True => exact I
  | |- (_ <= _ < _)%Z => first [assumption | (tidy_indices; index_inside)]
  | |- _ /\ _ => split; defined_everywhere
  | |- forall _, _ => intro; defined_everywhere
  | |- if Rltb (sum_lt _ _) 0 then _ else _ => first [no_choice_by_sign | choose]; defined_everywhere
  | |- if _ then _ else _ => tidy_indices; choose; defined_everywhere
  | |- exists i, (0 <= i < _)%Z /\ True => exists 0%Z; split; [index_law | exact I]
  | |- _ <> _ :> Z => first [index_law | (progress quotients_of_products; lia) | apply not_eq_sym, Z.lt_neq; product_above]
  | |- _ <> _ :> R => hypotheses; first [side | (progress values; side) | (rewrite ?mult_IZR; side)]
  | |- ~ _ => intro; hypotheses; first [absurd_index | lra]
  | |- _ => hypotheses; condition_law
  end.
