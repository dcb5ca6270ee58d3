(** Laws of what is read at labels, with plain indices, choices by indices decided, and sums of one term; and the laws
    of rules that have a VJP alone. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions Tactics Derivatives Algebra Laws Axes.
Open Scope R_scope.

Ltac tidy_indices := rewrite ?Z.mul_1_r, ?Z.mul_1_l, ?Z.add_0_r, ?Z.add_0_l, ?Z.div_1_r, ?Z.mod_1_r.

Ltac decide_indices :=
  hypotheses;
  repeat match goal with |- context [if (?a <? ?b)%Z then _ else _] =>
    first [ rewrite (proj2 (Z.ltb_lt a b)) by index_law | rewrite (proj2 (Z.ltb_ge a b)) by index_law ]; cbv iota
  end.

(** Goal [t = ?e]: the same number, tidied in each sum; logarithms under exponentials too. *)
Ltac tidied :=
  cbv beta;
  lazymatch goal with
  | |- sum_lt _ _ = _ => eapply sum_same; [intros ? ?; tidied | reflexivity]
  | |- ?t = _ =>
      lazymatch t with
      | exp (?a - ln ?b) => first [etransitivity; [apply (exp_minus_ln a b); sign_of_sum | tidied] | reflexivity]
      | context [sum_lt] =>
          lazymatch t with
          | ?a + ?b => etransitivity; [apply f_equal2; tidied | reflexivity]
          | ?a - ?b => etransitivity; [apply f_equal2; tidied | reflexivity]
          | ?a * ?b => etransitivity; [apply f_equal2; tidied | reflexivity]
          | ?a / ?b => etransitivity; [apply f_equal2; tidied | reflexivity]
          | ?a ^ ?n => etransitivity; [apply (f_equal (fun z => z ^ n)); tidied | reflexivity]
          | - ?a => etransitivity; [apply f_equal; tidied | reflexivity]
          | ln ?a => etransitivity; [apply f_equal; tidied | reflexivity]
          | exp ?a => etransitivity; [apply f_equal; tidied | reflexivity]
          | sqrt ?a => etransitivity; [apply f_equal; tidied | reflexivity]
          | if Rltb ?e 0 then ?a else ?b =>
              first [etransitivity; [apply (if_not_below e a b), Rlt_le; above | tidied] | reflexivity]
          | _ => reflexivity
          end
      | context [Z.div] => tidy_indices; decide_indices; reflexivity
      | context [Z.ltb] => tidy_indices; decide_indices; reflexivity
      | context [Z.add] => tidy_indices; reflexivity
      | _ => reflexivity
      end
  end.

Ltac both_tidied := etransitivity; [tidied | symmetry; etransitivity; [tidied | symmetry]].

(** The place at which a guard fixes the index of [f]. *)
Ltac place_of f :=
  constr:(fun at_term : Z => ltac:(
    let b := eval cbv beta in (f at_term) in
    match b with
    | context [Z.eqb at_term ?l] => exact l
    | context [Z.eqb ?l at_term] => exact l
    end)).

Ltac only_terms :=
  cbv beta;
  lazymatch goal with
  | |- _ = sum_lt ?n ?F =>
      let place := place_of F in
      lazymatch place with fun _ => ?l =>
        let E := fresh "E" in
        assert (E : sum_lt n F = F l) by (apply (sum_single n l F); [hypotheses; index_law | intros; no_term]);
        cbv beta in E; rewrite E; clear E; only_terms
      end
  | |- _ => hypotheses; first [solve [entry_law] | split_guards; first [reflexivity | ring | lra]]
  end.

(** The sums of the left side in front of those of the right, in each order. *)
Ltac in_order_of leaf :=
  cbv beta;
  lazymatch goal with
  | |- sum_lt ?n _ = ?e =>
      first
        [ to_front n 1%nat e; apply sum_ext; intros ? ?; in_order_of leaf
        | to_front n 2%nat e; apply sum_ext; intros ? ?; in_order_of leaf
        | to_front n 3%nat e; apply sum_ext; intros ? ?; in_order_of leaf
        | to_front n 4%nat e; apply sum_ext; intros ? ?; in_order_of leaf
        | to_front n 5%nat e; apply sum_ext; intros ? ?; in_order_of leaf ]
  | |- _ => solve [leaf]
  end.

Ltac labels :=
  both_tidied;
  first [ solve [both_merged; first [solve [in_order_of only_terms] | solve [symmetry; in_order_of only_terms]]]
        | solve [Laws.adjoint]
        | solve [under_axes] ].

(** The adjoint law. *)
Ltac adjoint := cbv beta; first [ solve [Axes.adjoint] | solve [hypotheses; labels] ].

(** Sums side by side under one, and an equation of entries. *)
Ltac entrywise :=
  rewrite <- ?sum_plus, <- ?sum_minus, <- ?sum_opp;
  repeat (same_range; apply sum_ext; intros ? ?; cbv beta);
  lazymatch goal with |- context [sum_lt] => fail | _ => idtac end;
  hypotheses; split_cases; first [reflexivity | ring | lra | pinned | field; side | pinched].

(** A rule that has a VJP alone: the derivative along any line of the outputs under a seed. *)
Ltac seeded :=
  derive_printed;
  lazymatch goal with
  | |- _ = _ :> R => first [solve [entrywise] | solve [adjoint] | real_equation]
  | |- 0 < _ => sign_of_sum
  | |- _ => asked
  end.
