(** Derivative and adjoint laws: sums merged over one range, roots of sums held, maxima that keep exponentials small held
    where they cancel. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coq Require Import Setoid Morphisms.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions Prefixes Tactics Derivatives Algebra.
Open Scope R_scope.

Global Instance sum_proper : forall n, Proper (pointwise_relation Z eq ==> eq) (sum_lt n).
Proof. intros n f g H; apply sum_ext; intros i _; apply H. Qed.

Global Instance max_proper : forall n, Proper (pointwise_relation Z eq ==> eq) (max_lt n).
Proof. intros n f g H; apply maxN_ext; intros i _; apply H. Qed.

Lemma exp_minus : forall a b, exp (a - b) = exp a * / exp b.
Proof. intros; unfold Rminus; rewrite exp_plus, exp_Ropp; reflexivity. Qed.

Lemma exp_minus_ln : forall a b, 0 < b -> exp (a - ln b) = exp a / b.
Proof. intros a b H; rewrite exp_minus, exp_ln by exact H; reflexivity. Qed.

Lemma if_not_below : forall (e a b : R), 0 <= e -> (if Rltb e 0 then a else b) = b.
Proof. intros e a b H; rewrite (Rltb_false e 0) by exact H; reflexivity. Qed.

(** * Sums merged: one sum over each range, and an equation of their terms *)

Lemma sum_if : forall n (c : bool) f g,
  sum_lt n (fun i => if c then f i else g i) = if c then sum_lt n f else sum_lt n g.
Proof. intros n [] f g; reflexivity. Qed.

Lemma sum_if_0 : forall n (c : bool) f, sum_lt n (fun i => if c then f i else 0) = if c then sum_lt n f else 0.
Proof. intros n [] f; [reflexivity|apply sum_zero]. Qed.

Lemma sum_if_not : forall n (c : bool) f, sum_lt n (fun i => if c then 0 else f i) = if c then 0 else sum_lt n f.
Proof. intros n [] f; [apply sum_zero|reflexivity]. Qed.

(** Goal [t = ?e], where [t] is an operation on merged terms: one sum in front. *)
Ltac pull_sum :=
  cbv beta;
  lazymatch goal with
  | |- sum_lt ?n ?f + sum_lt ?n ?g = _ =>
      etransitivity; [symmetry; apply sum_plus | eapply sum_same; [intros ? ?; pull_sum | reflexivity]]
  | |- sum_lt ?n ?f + sum_lt ?m (fun i => sum_lt ?n (fun j => @?g i j)) = _ =>
      etransitivity; [apply (f_equal (fun z => sum_lt n f + z)); apply (sum_comm m n g) | pull_sum]
  | |- sum_lt ?n ?f + sum_lt ?m (fun i => sum_lt ?p (fun j => sum_lt ?n (fun k => @?g i j k))) = _ =>
      etransitivity; [apply (f_equal (fun z => sum_lt n f + z)); apply (sum_front_3 m p n g) | pull_sum]
  | |- sum_lt ?n ?f - sum_lt ?n ?g = _ =>
      etransitivity; [symmetry; apply sum_minus | eapply sum_same; [intros ? ?; pull_sum | reflexivity]]
  | |- - sum_lt ?n ?f = _ =>
      etransitivity; [symmetry; apply sum_opp | eapply sum_same; [intros ? ?; pull_sum | reflexivity]]
  | |- sum_lt ?n ?f / ?c = _ =>
      etransitivity; [symmetry; apply sum_div | eapply sum_same; [intros ? ?; pull_sum | reflexivity]]
  | |- sum_lt ?n ?f * ?c = _ =>
      etransitivity; [symmetry; apply sum_scal_r | eapply sum_same; [intros ? ?; pull_sum | reflexivity]]
  | |- ?c * sum_lt ?n ?f = _ =>
      etransitivity; [symmetry; apply sum_scal_l | eapply sum_same; [intros ? ?; pull_sum | reflexivity]]
  | |- (if ?c then sum_lt ?n ?f else sum_lt ?n ?g) = _ =>
      etransitivity; [symmetry; apply sum_if | eapply sum_same; [intros ? ?; pull_sum | reflexivity]]
  | |- (if ?c then sum_lt ?n ?f else 0) = _ =>
      etransitivity; [symmetry; apply sum_if_0 | eapply sum_same; [intros ? ?; pull_sum | reflexivity]]
  | |- (if ?c then 0 else sum_lt ?n ?f) = _ =>
      etransitivity; [symmetry; apply sum_if_not | eapply sum_same; [intros ? ?; pull_sum | reflexivity]]
  | |- _ => reflexivity
  end.

(** Goal [t = ?e]: sums out of sums, differences, quotients and products, and those over one range as one. *)
Ltac merge :=
  cbv beta;
  lazymatch goal with
  | |- ?t = _ =>
      lazymatch t with
      | sum_lt _ _ => eapply sum_same; [intros ? ?; merge | reflexivity]
      | context [sum_lt] =>
          lazymatch t with
          | 0 + ?a => etransitivity; [apply Rplus_0_l | merge]
          | ?a + 0 => etransitivity; [apply Rplus_0_r | merge]
          | ?a + ?b => etransitivity; [apply f_equal2; merge | pull_sum]
          | 0 - ?a => etransitivity; [apply Rminus_0_l | merge]
          | ?a - ?b => etransitivity; [apply f_equal2; merge | pull_sum]
          | - ?a => etransitivity; [apply f_equal; merge | pull_sum]
          | ?a / ?b => etransitivity; [apply (f_equal (fun z => z / b)); merge | pull_sum]
          | ?a * ?b => etransitivity; [apply f_equal2; merge | pull_sum]
          | if ?c then ?a else ?b =>
              etransitivity; [apply (f_equal2 (fun y z => if c then y else z)); merge | pull_sum]
          | _ => reflexivity
          end
      | _ => reflexivity
      end
  end.

Ltac both_merged := etransitivity; [merge | symmetry; etransitivity; [merge | symmetry]].

(** Sizes as numbers; whatever else is divided by is left as it stands. *)
Ltac linear_in_sizes :=
  lazymatch goal with |- context [IZR] => idtac end;
  unfold Rdiv; rewrite ?mult_IZR, ?Rinv_mult;
  repeat match goal with |- context [/ ?e] => lazymatch e with IZR _ => fail | _ => generalize (/ e); intro end end;
  field; repeat split; apply not_0_IZR; lia.

(** Terms that are linear in what a law is about: what they are multiplied by is left as it stands. Choices are made
    one after another, the outermost first, and only as far as need be. *)
Ltac one_choice :=
  match goal with |- context [if ?c then _ else _] => decide_bool c end; reduce.

Ltac linear_term :=
  first
    [ reflexivity
    | solve [unfold Rdiv; ring]
    | solve [linear_in_sizes]
    | one_choice; linear_term
    | solve [absurd_case]
    | solve [split_unequal; absurd_case]
    | solve [subst; unfold Rdiv; ring]
    | solve [field; side] ].

Ltac merged leaf := both_merged; in_some_order leaf.

(** Exponentials of logarithms, also inside sums. *)
Ltac logarithms_out :=
  lazymatch goal with |- context [ln] => idtac end;
  repeat setoid_rewrite exp_minus; rewrite ?exp_ln by side.

(** Products that begin or end with 1, without it. *)
Ltac product_term :=
  split_cases; first [ reflexivity | (exfalso; lia) | ring | (f_equal; lia) | (do 2 f_equal; lia) ].

Ltac products_alike :=
  rewrite ?Rmult_1_l, ?Rmult_1_r;
  repeat match goal with
  | |- context [prod_lt ?n ?f] => match goal with
      | |- context [prod_lt ?m ?g] =>
          tryif (constr_eq f g; constr_eq n m) then fail else
            let E := fresh "E" in
            assert (E : prod_lt n f = prod_lt m g)
              by first [ (apply prod_after; [lia | lia | product_term | intros; product_term])
                       | (apply prod_before; [lia | lia | product_term | intros; product_term])
                       | (replace n with m by lia; apply prod_ext; intros; product_term) ];
            rewrite E; clear E
      end
  end.

Ltac term_law :=
  cbv beta; lazymatch goal with |- context [(_ + 0)%Z] => rewrite ?Z.add_0_r | |- _ => idtac end; hypotheses;
  first
    [ solve [linear_term]
    | (lazymatch goal with |- context [prod_lt] => idtac end; products_alike; solve [linear_term])
    | (lazymatch goal with |- context [sum_lt] => idtac end; progress logarithms_out;
       first [solve [linear_term] | solve [merged ltac:(linear_term)] | solve [sums_equal]])
    | solve [equation]
    | leaf_equal ].

(** A sum is positive, because it is a multiple of what is known to be. *)
Lemma above_from : forall e h k, 0 < h -> 0 < k -> e * k = h -> 0 < e.
Proof. intros e h k H K E; apply (Rmult_lt_reg_r k); [exact K|]; rewrite Rmult_0_l, E; exact H. Qed.

Ltac size_above := repeat apply Rmult_lt_0_compat; apply (IZR_lt 0); lia.

Ltac multiple_of_known :=
  hypotheses;
  match goal with
  | H : ?h > 0 |- 0 < ?e =>
      lazymatch h with context [sum_lt] => idtac end;
      first
        [ apply (above_from e h 1 H Rlt_0_1); rewrite Rmult_1_r; solve [sums_alike | sums_equal]
        | match goal with K : (1 <= ?n)%Z |- _ =>
            lazymatch e with context [IZR n] => idtac end;
            apply (above_from e h (IZR n) H ltac:(size_above)); solve [sums_equal] end
        | match goal with K : (1 <= ?n)%Z, L : (1 <= ?m)%Z |- _ =>
            lazymatch e with context [IZR (n * m)] => idtac end;
            apply (above_from e h (IZR n * IZR m) H ltac:(size_above)); solve [sums_equal] end ]
  end.

Ltac sign_of_sum := first [solve [side] | solve [multiple_of_known]].

(** Choices that the sign of a sum decides. *)
Ltac decide_signs :=
  repeat match goal with
  | |- context [Rltb 0 ?e] => lazymatch e with context [sum_lt] => idtac end;
      rewrite (Rltb_true 0 e) by sign_of_sum; cbv iota
  end.

(** Roots of sums as numbers above 0, of which no more is known. *)
Ltac hold_roots :=
  decide_signs;
  repeat match goal with
  | |- context [sqrt ?e] => lazymatch e with context [sum_lt] => idtac end;
      let P := fresh "P" in let r := fresh "r" in
      assert (P : 0 < sqrt e) by (apply sqrt_lt_R0; sign_of_sum);
      revert P; generalize (sqrt e); intros r P
  end.

(** Choices by comparisons of sums, whatever else depends on them. *)
Ltac choose_by_sums :=
  repeat (match goal with |- context [if ?c then _ else _] =>
            lazymatch c with context [Rltb ?a ?b] => lazymatch constr:((a, b)) with context [sum_lt] => decide_bool c end end
          end; reduce; try absurd_case).

Ltac real_equation :=
  first
    [ (lazymatch goal with |- _ = sum_lt _ (fun k => (if _ then exp _ else 0) * _) => solve [weighted_prefix] end)
    | (lazymatch goal with |- context [sqrt (sum_lt _ _)] => idtac | |- context [sqrt (_ + _)] => idtac end;
       decide_signs; choose_by_sums; hold_roots;
       first [solve [merged ltac:(linear_term)] | solve [sums_equal] | solve [split_cases; sums_equal]])
    | lazymatch goal with |- context [sum_lt] => solve [merged ltac:(term_law)] end
    | solve [equation]
    | solve [sums_alike]
    | solve [sums_equal]
    | split_cases; solve [sums_equal] ].

(** Roots that depend on indices of sums over one range on both sides, down to where they are fixed. *)
Ltac under_roots :=
  both_merged; fix_roots
with fix_roots :=
  cbv beta; hypotheses;
  first
    [ progress hold_roots; cbv beta; first [solve [linear_term] | solve [sums_equal]]
    | lazymatch goal with |- sum_lt ?n (fun i => sum_lt ?m (fun j => @?f i j)) = sum_lt ?n (fun i => sum_lt ?m (fun j => @?g i j)) =>
        rewrite (sum_comm n m f), (sum_comm n m g); apply sum_ext; intros ? ?; cbv beta; hypotheses;
        progress hold_roots; first [solve [linear_term] | solve [sums_equal]] end
    | same_range; apply sum_ext; intros ? ?; fix_roots ].

(** The adjoint law: both sides are sums over all entries. *)
Ltac adjoint :=
  cbv beta; hypotheses;
  first
    [ reflexivity
    | solve [merged ltac:(linear_term)]
    | (lazymatch goal with |- context [sqrt] => idtac end; under_roots)
    | solve [repeat (apply sum_ext; intros ? ?; cbv beta); first [ring | equation]]
    | solve [sums_equal]
    | solve [split_cases; sums_equal] ].

(** * What does not depend on the shift that keeps exponentials small *)

Ltac logarithms :=
  repeat first
    [ rewrite ln_exp
    | rewrite ln_mult by side
    | rewrite ln_Rinv by side ].

(** Choices by the sign of what is above 0 by its form, as a sum of exponentials. *)
Ltac no_choice_by_sign :=
  lazymatch goal with |- context [Rltb (sum_lt _ _) 0] => idtac end;
  repeat match goal with |- context [Rltb ?e 0] => rewrite (Rltb_false e 0) by (apply Rlt_le; above) end; cbv iota.

Ltac without_shift :=
  try no_choice_by_sign;
  rewrite ?exp_minus; repeat setoid_rewrite exp_minus; repeat setoid_rewrite sum_scal_r; logarithms;
  first [ring | field; repeat split; side].

Lemma line_at_0 : forall a b, a + 0 * b = a.
Proof. intros; ring. Qed.

(** A maximum that moves is held at its value at time 0, where the function does not depend on it. *)
Ltac hold_maximum :=
  lazymatch goal with |- dual ?f _ _ =>
    lazymatch f with context [max_lt] => idtac end;
    let h := constr:(fun t : R => ltac:(let b := eval cbv beta in (f t) in
                           match b with context [max_lt ?n ?h] => exact (max_lt n h) end)) in
    lazymatch h with fun _ => ?c => fail | _ => idtac end;
    let now := eval cbv beta in (h 0) in
    let F := constr:(fun t : R => ltac:(
      let b := eval cbv beta in (f t) in let m := eval cbv beta in (h t) in
      let p := eval pattern m in b in
      lazymatch p with ?q _ => let r := eval cbv beta in (q now) in exact r end)) in
    apply (dual_ext F);
    [ let t := fresh in intro t; cbv beta;
      let m := eval cbv beta in (h t) in
      generalize m; generalize now; intros ? ?; without_shift
    | cbv beta ]
  end.

(** A choice by the sign of a sum that moves, and is above 0 at all times by its form. *)
Ltac decide_positive :=
  lazymatch goal with |- dual ?f _ _ =>
    lazymatch f with context [Rltb _ 0] => idtac end;
    let c := constr:(fun t : R => ltac:(let b := eval cbv beta in (f t) in
                           match b with context [Rltb (sum_lt ?n ?h) 0] => exact (Rltb (sum_lt n h) 0) end)) in
    let F := constr:(fun t : R => ltac:(
      let b := eval cbv beta in (f t) in let m := eval cbv beta in (c t) in
      let p := eval pattern m in b in
      lazymatch p with ?q _ => let r := eval cbv beta iota in (q false) in exact r end)) in
    apply (dual_ext F);
    [ let t := fresh in intro t; cbv beta;
      match goal with |- context [Rltb (sum_lt ?n ?h) 0] =>
        rewrite (Rltb_false (sum_lt n h) 0) by (apply Rlt_le; above) end;
      reflexivity
    | cbv beta ]
  end.

(** All that follows from the form, with maxima held where that is right. *)
Ltac derive_held :=
  cbv beta;
  lazymatch goal with
  | |- dual ?f _ _ => first [decide_positive | hold_maximum | dual_law]; derive_held
  | |- steady _ _ => dual_step; derive_held
  | |- _ -> dual _ _ _ => intro; derive_held
  | |- (0 <= _ < _)%Z -> _ => intro; derive_held
  | |- forall _ : Z, _ => intro; derive_held
  | |- _ => idtac
  end.

(** Inputs on curves at time 0. *)
Ltac curves_at_0 :=
  repeat match goal with
  | H : dual (fun t => ?f t) ?x _ |- context [?f 0] => rewrite (proj1 H : f 0 = x)
  | H : forall i : Z, dual (fun t => ?f t i) (?x i) _ |- context [?f 0] => starts f x H
  | H : forall i j : Z, dual (fun t => ?f t i j) (?x i j) _ |- context [?f 0] => starts f x H
  | H : forall i j k : Z, dual (fun t => ?f t i j k) (?x i j k) _ |- context [?f 0] => starts f x H
  | H : forall i j k l : Z, dual (fun t => ?f t i j k l) (?x i j k l) _ |- context [?f 0] => starts f x H
  | H : forall i j k l m : Z, dual (fun t => ?f t i j k l m) (?x i j k l m) _ |- context [?f 0] => starts f x H
  end
with starts f x H :=
  let E := fresh in
  assert (E : f 0 = x) by (repeat (apply FunctionalExtensionality.functional_extensionality; intro); apply H);
  rewrite E; clear E.

Ltac derive_printed :=
  hypotheses; eapply dual_is_derive;
  [ lazymatch goal with |- context [max_lt] => derive_held | |- _ => derive end | ];
  curves_at_0; cbv beta delta [softplus softplus_less]; lazymatch goal with |- context [0 * _] => repeat setoid_rewrite line_at_0 | |- _ => idtac end;
  lazymatch goal with |- context [INR] => cbn [INR Init.Nat.pred] | |- _ => idtac end.

(** * Roots of sums of squares that are scaled, so that no square is too large for a float *)

Lemma scaled_root : forall a b c, 0 < c -> sqrt (a / c * (a / c) + b / c * (b / c)) * c = sqrt (a * a + b * b).
Proof.
  intros a b c H; transitivity (sqrt (a / c * (a / c) + b / c * (b / c)) * sqrt (c * c)); [rewrite (sqrt_square c) by lra; reflexivity|].
  rewrite <- sqrt_mult_alt by nra; f_equal; field; lra.
Qed.

Lemma same_choice : forall (c : bool) (a : R), (if c then a else a) = a.
Proof. intros [] a; reflexivity. Qed.

Ltac unscaled :=
  repeat match goal with
  | |- context [sqrt (?a / ?c * (?a / ?c) + ?b / ?c * (?b / ?c)) * ?c] => rewrite (scaled_root a b c) by lra
  | |- context [if ?c then ?a else ?a] => rewrite (same_choice c a)
  end.

Ltac roots_unscaled :=
  lazymatch goal with |- is_derive ?f _ _ => lazymatch f with context [sqrt (_ / _ * (_ / _) + _) * _] => idtac end end;
  eapply is_derive_ext; [intro; symmetry; unscaled; reflexivity |]; unscaled.

(** The derivative along any direction of what is printed as the forward. *)
Ltac derivative :=
  try roots_unscaled; derive_printed;
  lazymatch goal with
  | |- _ = _ :> R => real_equation
  | |- 0 < _ => sign_of_sum
  | |- _ => asked
  end.

(** An axis of size 1 has one index. *)
Ltac single_indices :=
  repeat match goal with H : (0 <= ?i < 1)%Z |- _ => is_var i; assert (i = 0%Z) by lia; subst i end.

(** A printed theorem: its parts, with everything named. *)
Ltac start := intros; repeat match goal with |- _ /\ _ => split end; intros; single_indices.

(** Two programs with one value. *)
Ltac same_value := cbv beta; hypotheses; first [reflexivity | real_equation].
