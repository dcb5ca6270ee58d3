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

(** Labels outside their range add nothing: comparisons of what no sum binds are decided first. *)
Ltac decide_closed :=
  repeat (match goal with
          | |- context [(?a <? ?b)%Z] => destruct (Z.ltb_spec a b)
          | |- context [(?a <=? ?b)%Z] => destruct (Z.leb_spec a b)
          end; reduce; try absurd_index).

Ltac nothing := transitivity 0; [ring | symmetry; no_term].

Ltac scattered := first [solve [only_terms] | decide_closed; first [solve [only_terms] | solve [nothing]]].

Ltac read_at_labels :=
  both_merged; first [solve [in_order_of scattered] | solve [symmetry; in_order_of scattered]].

(** Goal [t = ?e]: sums of sums and differences as sums and differences of sums. *)
Ltac terms_apart :=
  cbv beta;
  lazymatch goal with
  | |- sum_lt _ _ = _ =>
      eapply sum_same; [intros ? ?; terms_apart | first [apply sum_plus | apply sum_minus | reflexivity]]
  | |- _ =>
      apply equal_by_all; let P := fresh "P" in let K := fresh "K" in intros P K;
      rewrite ?Rmult_minus_distr_l, ?Rmult_plus_distr_l, ?Rmult_minus_distr_r, ?Rmult_plus_distr_r; exact K
  end.

Ltac labels :=
  both_tidied;
  first [ solve [read_at_labels]
        | solve [Laws.adjoint]
        | solve [under_axes]
        | (etransitivity; [terms_apart |]; apply f_equal2; [solve [reflexivity] | solve [read_at_labels]]) ].

(** * Axes in parts, which both sides take apart, and terms that each move on their own *)

Lemma sum_triple : forall n f, (0 <= n)%Z -> sum_lt (3 * n) f = sum_lt n (fun i => f i + f (n + i)%Z + f (n + n + i)%Z).
Proof.
  intros n f H; replace (3 * n)%Z with (n + n + n)%Z by lia; rewrite !sum_split, <- !sum_plus by lia; reflexivity.
Qed.

(** Choices by indices alone. *)
Ltac split_places :=
  repeat (match goal with |- context [if ?c then _ else _] =>
            lazymatch c with context [Z.ltb] => idtac | context [Z.leb] => idtac | context [Z.eqb] => idtac end; decide_bool c
          end; reduce; try absurd_index).

Ltac part_entry :=
  rewrite <- ?sum_plus, <- ?sum_minus; repeat (same_range; apply sum_ext; intros ? ?; cbv beta);
  split_places; rewrite ?cos_neg, ?sin_neg;
  first [ring | (unify_entries; first [ring | (field; side) | (split_cases; first [ring | lra | pinned])])].

Ltac crosswise := rewrite Rplus_comm; apply f_equal2; apply sum_ext; intros ? ?; cbv beta; part_entry.

Ltac in_parts :=
  cbv beta;
  lazymatch goal with
  | |- sum_lt (2 * _) _ = sum_lt (2 * _) _ =>
      rewrite !sum_double by lia; apply sum_ext; intros ? ?; cbv beta; solve [part_entry]
  | |- sum_lt ?n _ = sum_lt (2 * ?n) _ => rewrite sum_double by lia; apply sum_ext; intros ? ?; cbv beta; solve [part_entry]
  | |- sum_lt (2 * ?n) _ = sum_lt ?n _ => rewrite sum_double by lia; apply sum_ext; intros ? ?; cbv beta; solve [part_entry]
  | |- sum_lt (3 * _) _ = sum_lt (3 * _) _ =>
      rewrite !sum_triple by lia; apply sum_ext; intros ? ?; cbv beta; solve [part_entry]
  | |- sum_lt (?n + ?m) ?f = sum_lt (?n + ?m) ?g =>
      first
        [ rewrite (sum_split n m g), (sum_range (n + m) (m + n) f), (sum_split m n f) by lia; solve [crosswise]
        | rewrite (sum_split n m f), (sum_range (n + m) (m + n) g), (sum_split m n g) by lia; solve [crosswise] ]
  end.

Ltac parts :=
  cbv beta;
  first
    [ solve [in_parts]
    | (lazymatch goal with |- sum_lt ?n _ = sum_lt ?n _ => apply sum_ext; intros ? ? end; solve [parts])
    | (etransitivity; [terms_apart | symmetry; etransitivity; [terms_apart | symmetry]];
       lazymatch goal with
       | |- sum_lt _ _ - sum_lt _ _ = sum_lt _ _ - sum_lt _ _ => idtac
       | |- sum_lt _ _ + sum_lt _ _ = sum_lt _ _ + sum_lt _ _ => idtac
       end; apply f_equal2; solve [axis_law]) ].

(** The adjoint law. *)
Ltac adjoint :=
  cbv beta;
  first [ (lazymatch goal with |- context [Z.ltb] => idtac end; solve [parts])
        | solve [Axes.adjoint]
        | solve [hypotheses; labels]
        | solve [parts] ].

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
