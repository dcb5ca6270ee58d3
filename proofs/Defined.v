(** Where programs are defined: conditions by form, each part at the entries that it is about. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions Prefixes Tactics Derivatives Algebra Laws Axes Labels Bilinear Composed.
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
    [ assumption
    | lia
    | solve [rewrite ?Z.div_1_r, ?Z.mul_1_l, ?Z.mul_1_r; quotients_of_products; place_in_range]
    | index_law
    | (hypotheses; index_law)
    | (hypotheses; split_guards; index_law) ].

(** A case that plainly cannot be is left out. *)
Ltac choose :=
  lazymatch goal with |- if ?c then _ else _ =>
    lazymatch c with
    | context [Rltb] => decide_bool c; reduce; try contradiction
    | _ => decide_bool c; reduce; try (exfalso; first [contradiction | lia | (divides; Z.to_euclidean_division_equations; lia)])
    end
  end.

(** * Under a mask *)

Lemma any_lt_true : forall n p, (exists k, (0 <= k < n)%Z /\ p k = true) -> any_lt n p = true.
Proof.
  intros n p [k [Hk Pk]]; unfold any_lt, all_lt; apply Bool.negb_true_iff, Bool.not_true_is_false; intro A.
  assert (B : forall m, allN m (fun i => negb (p (Z.of_nat i))) = true -> forall j, (j < m)%nat -> p (Z.of_nat j) = false).
  { induction m as [|m IH]; intros G j L; [lia|]; cbn [allN] in G; apply andb_prop in G; destruct G as [G1 G2].
    destruct (Nat.eq_dec j m) as [->|]; [apply Bool.negb_true_iff; assumption | apply IH; [exact G1 | lia]]. }
  specialize (B _ A (Z.to_nat k) ltac:(lia)); rewrite Z2Nat.id in B by lia; congruence.
Qed.

Ltac defined_everywhere :=
  cbv beta;
  lazymatch goal with
  | |- True => exact I
  | |- (_ <= _ < _)%Z => first [assumption | (tidy_indices; index_inside)]
  | |- _ /\ _ => split; defined_everywhere
  | |- forall _, _ => intro; defined_everywhere
  | |- any_lt _ _ = true => apply any_lt_true; some_kept
  | |- (_ <=? _)%Z = true => apply Z.leb_le; lia
  | |- _ = true => first [reflexivity | assumption]
  | |- exists i, (0 <= i < _)%Z /\ _ = true => some_kept
  | |- ~ (sum_lt _ (fun k => if @?p k then exp (@?s k - ?m) else 0) = 0) =>
      apply Rgt_not_eq, (masked_sum_pos _ p s m); some_kept
  | |- ~ (sum_lt ?n (fun k => if (if (k <=? ?i)%Z then Rleb (max_lt _ _) (@?x k) else false) then 1 else 0) = 0) =>
      apply (prefix_max_marked n i x); lia
  | |- ~ (sum_lt ?n (fun k => if (if (k <=? ?i)%Z then Rleb (@?x k) (min_lt _ _) else false) then 1 else 0) = 0) =>
      apply (prefix_min_marked n i x); lia
  | |- if true then _ else _ => cbv iota; defined_everywhere
  | |- if Rltb (sum_lt _ _) 0 then _ else _ => first [no_choice_by_sign | choose]; defined_everywhere
  | |- if _ then _ else _ => tidy_indices; choose; defined_everywhere
  | |- exists i, (0 <= i < _)%Z /\ True => exists 0%Z; split; [index_law | exact I]
  | |- _ <> _ :> Z => first [index_law | (progress quotients_of_products; lia) | apply not_eq_sym, Z.lt_neq; product_above]
  | |- _ <> _ :> R => hypotheses; first [side | (progress values; side) | (rewrite ?mult_IZR; side) | absurd_index]
  | |- ~ _ => intro; hypotheses; first [absurd_index | lra]
  | |- _ => first
      [ hypotheses; condition_law
      | (progress rewrite ?Z.div_1_r, ?Z.mul_1_r, ?Z.add_0_r); hypotheses; condition_law ]
  end.

(** * Definition by definition

    Each condition inside a program is proved once, at all indices inside its shape, and is used by its name from then on.
    One that holds under a mask alone cannot be, and stands for what it says. *)

Definition known (P : Prop) : Prop := P.

Definition inside_0 (P : Prop) : Prop := P.
Definition inside_1 n (P : Z -> Prop) : Prop := forall i, (0 <= i < n)%Z -> P i.
Definition inside_2 n m (P : Z -> Z -> Prop) : Prop := forall i, (0 <= i < n)%Z -> inside_1 m (P i).
Definition inside_3 n m l (P : Z -> Z -> Z -> Prop) : Prop := forall i, (0 <= i < n)%Z -> inside_2 m l (P i).
Definition inside_4 n m l o (P : Z -> Z -> Z -> Z -> Prop) : Prop := forall i, (0 <= i < n)%Z -> inside_3 m l o (P i).
Definition inside_5 n m l o p (P : Z -> Z -> Z -> Z -> Z -> Prop) : Prop :=
  forall i, (0 <= i < n)%Z -> inside_4 m l o p (P i).

Ltac open_inside := unfold inside_5, inside_4, inside_3, inside_2, inside_1, inside_0.
Ltac open_known K := unfold known, inside_5, inside_4, inside_3, inside_2, inside_1, inside_0 in K.

Ltac head_of g := lazymatch g with ?f _ => head_of f | _ => g end.

Ltac forget_known := repeat match goal with K : known _ |- _ => clear K end.

(** Numbers and truth values by what they are; conditions keep their names. *)
Ltac values_by_definition :=
  repeat match goal with h := _ : ?T |- _ =>
    lazymatch T with context [Prop] => fail | _ => lazymatch goal with |- context [h] => unfold h end end end;
  cbv beta.

Ltac known_part h :=
  match goal with K : known ?P |- _ => lazymatch P with context [h] => open_known K; apply K end end.

Ltac part_holds :=
  cbv beta;
  lazymatch goal with
  | |- True => exact I
  | |- (_ <= _ < _)%Z => first [assumption | eassumption | defined_everywhere]
  | |- _ /\ _ => split; part_holds
  | |- forall _, _ => intro; part_holds
  | |- if true then _ else _ => cbv iota; part_holds
  | |- if Rltb (sum_lt _ _) 0 then _ else _ => first [no_choice_by_sign | choose]; part_holds
  | |- if _ then _ else _ => tidy_indices; choose; part_holds
  | |- ?G =>
      let h := head_of G in
      tryif is_var h then first
        [ known_part h; part_holds
        | unfold h; values_by_definition; part_holds ]
      else (forget_known; defined_everywhere)
  end.

Ltac prove_part D := red; open_inside; intros; unfold D; values_by_definition; part_holds.

Ltac know_part D K :=
  lazymatch type of D with
  | Prop => assert (K : known (inside_0 D)) by prove_part D
  | Z -> Prop => eassert (K : known (inside_1 _ D)) by prove_part D
  | Z -> Z -> Prop => eassert (K : known (inside_2 _ _ D)) by prove_part D
  | Z -> Z -> Z -> Prop => eassert (K : known (inside_3 _ _ _ D)) by prove_part D
  | Z -> Z -> Z -> Z -> Prop => eassert (K : known (inside_4 _ _ _ _ D)) by prove_part D
  | Z -> Z -> Z -> Z -> Z -> Prop => eassert (K : known (inside_5 _ _ _ _ _ D)) by prove_part D
  end.

(** The indices that the goal is about are not those that a part is about: the goal says itself for all of them, the last
    one first. *)
Ltac over_an_index :=
  match goal with
  | H : (0 <= ?i < ?n)%Z |- inside_4 ?m ?l ?o ?p (?F ?i) => is_var i; revert H; revert i; change (inside_5 n m l o p F)
  | H : (0 <= ?i < ?n)%Z |- inside_3 ?m ?l ?o (?F ?i) => is_var i; revert H; revert i; change (inside_4 n m l o F)
  | H : (0 <= ?i < ?n)%Z |- inside_2 ?m ?l (?F ?i) => is_var i; revert H; revert i; change (inside_3 n m l F)
  | H : (0 <= ?i < ?n)%Z |- inside_1 ?m (?F ?i) => is_var i; revert H; revert i; change (inside_2 n m F)
  | H : (0 <= ?i < ?n)%Z |- ?F ?i => is_var i; revert H; revert i; change (inside_1 n F)
  end.

Ltac closed_goal :=
  first [over_an_index; repeat over_an_index | lazymatch goal with |- ?G => change (inside_0 G) end].

Ltac parts :=
  lazymatch goal with
  | |- ?W (let x := ?a in @?B x) =>
      let T := type of a in
      let D := fresh "part" in
      pose (D := a);
      let r := eval cbv beta in (B D) in change (W r);
      lazymatch T with
      | context [Prop] => let K := fresh "known" in try (know_part D K; clearbody D)
      | _ => idtac
      end;
      parts
  | |- _ => open_inside; intros; values_by_definition; part_holds
  end.

Ltac defined_by_parts := closed_goal; parts.
