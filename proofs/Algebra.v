(** Equations between sums over ranges of any size.

    Sums are brought to a form in which each stands over what depends on its index alone, products of sums side by
    side; equal sums are then found by extensionality and by changing the order of summation. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coq Require Import Setoid Morphisms.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Maxima Functions Tactics.
Open Scope R_scope.

(** A condition as a number, so that choices inside sums are products. *)
Definition ind (c : bool) : R := if c then 1 else 0.

Lemma if_ind : forall (c : bool) a b, (if c then a else b) = ind c * a + (1 - ind c) * b.
Proof. intros [] a b; unfold ind; ring. Qed.

Lemma if_ind_0 : forall (c : bool) a, (if c then a else 0) = ind c * a.
Proof. intros [] a; unfold ind; ring. Qed.

Lemma ind_and : forall p q, ind (p && q)%bool = ind p * ind q.
Proof. intros [] []; unfold ind; simpl; ring. Qed.

Lemma ind_not : forall p, ind (negb p) = 1 - ind p.
Proof. intros []; unfold ind; simpl; ring. Qed.

Lemma ind_or : forall p q, ind (p || q)%bool = ind p + ind q - ind p * ind q.
Proof. intros [] []; unfold ind; simpl; ring. Qed.

Lemma sum_pull : forall n f c g, (forall i, (0 <= i < n)%Z -> f i = c * g i) -> sum_lt n f = c * sum_lt n g.
Proof. intros n f c g H; rewrite <- sum_scal_l; apply sum_ext; exact H. Qed.

Lemma sum_two : forall n f g h, (forall i, (0 <= i < n)%Z -> f i = g i + h i) -> sum_lt n f = sum_lt n g + sum_lt n h.
Proof. intros n f g h H; rewrite <- sum_plus; apply sum_ext; exact H. Qed.

Lemma sum_less : forall n f g h, (forall i, (0 <= i < n)%Z -> f i = g i - h i) -> sum_lt n f = sum_lt n g - sum_lt n h.
Proof. intros n f g h H; rewrite <- sum_minus; apply sum_ext; exact H. Qed.

Lemma sum_neg : forall n f g, (forall i, (0 <= i < n)%Z -> f i = - g i) -> sum_lt n f = - sum_lt n g.
Proof. intros n f g H; rewrite <- sum_opp; apply sum_ext; exact H. Qed.

Lemma sum_same : forall n f g s, (forall i, (0 <= i < n)%Z -> f i = g i) -> sum_lt n g = s -> sum_lt n f = s.
Proof. intros n f g s H <-; apply sum_ext; exact H. Qed.

Lemma sum_front_2 : forall n m f s, sum_lt m (fun j => sum_lt n (fun i => f i j)) = s ->
  sum_lt n (fun i => sum_lt m (fun j => f i j)) = s.
Proof. intros n m f s <-; apply sum_comm. Qed.

Lemma sum_front_3 : forall n m p f,
  sum_lt n (fun i => sum_lt m (fun j => sum_lt p (fun k => f i j k))) =
  sum_lt p (fun k => sum_lt n (fun i => sum_lt m (fun j => f i j k))).
Proof.
  intros n m p f; transitivity (sum_lt n (fun i => sum_lt p (fun k => sum_lt m (fun j => f i j k)))).
  - apply sum_ext; intros; apply sum_comm.
  - apply (sum_comm n p (fun i k => sum_lt m (fun j => f i j k))).
Qed.

Lemma sum_front_4 : forall n m p q f,
  sum_lt n (fun i => sum_lt m (fun j => sum_lt p (fun k => sum_lt q (fun l => f i j k l)))) =
  sum_lt q (fun l => sum_lt n (fun i => sum_lt m (fun j => sum_lt p (fun k => f i j k l)))).
Proof.
  intros n m p q f; transitivity (sum_lt n (fun i => sum_lt q (fun l => sum_lt m (fun j => sum_lt p (fun k => f i j k l))))).
  - apply sum_ext; intros i Hi; apply (sum_front_3 m p q (fun j k l => f i j k l)).
  - apply (sum_comm n q (fun i l => sum_lt m (fun j => sum_lt p (fun k => f i j k l)))).
Qed.

Lemma sum_front_5 : forall n m p q r f,
  sum_lt n (fun i => sum_lt m (fun j => sum_lt p (fun k => sum_lt q (fun l => sum_lt r (fun o => f i j k l o))))) =
  sum_lt r (fun o => sum_lt n (fun i => sum_lt m (fun j => sum_lt p (fun k => sum_lt q (fun l => f i j k l o))))).
Proof.
  intros n m p q r f.
  transitivity (sum_lt n (fun i => sum_lt r (fun o => sum_lt m (fun j => sum_lt p (fun k => sum_lt q (fun l => f i j k l o)))))).
  - apply sum_ext; intros i Hi; apply (sum_front_4 m p q r (fun j k l o => f i j k l o)).
  - apply (sum_comm n r (fun i o => sum_lt m (fun j => sum_lt p (fun k => sum_lt q (fun l => f i j k l o))))).
Qed.

(** * Factors *)

Ltac mentions t i := lazymatch t with context [i] => idtac | _ => fail end.

(** The product of the factors of [t] in which [i] does not occur, and of the others. *)
Ltac fixed_part t i :=
  lazymatch t with
  | ?a * ?b => let p := fixed_part a i in let q := fixed_part b i in
               lazymatch p with 1 => q | _ => lazymatch q with 1 => p | _ => constr:(p * q) end end
  | - ?a => let p := fixed_part a i in constr:(-1 * p)
  | _ => match t with
         | _ => let _ := match goal with _ => mentions t i end in constr:(1)
         | _ => t
         end
  end.

Ltac moving_part t i :=
  lazymatch t with
  | ?a * ?b => let p := moving_part a i in let q := moving_part b i in
               lazymatch p with 1 => q | _ => lazymatch q with 1 => p | _ => constr:(p * q) end end
  | - ?a => moving_part a i
  | _ => match t with
         | _ => let _ := match goal with _ => mentions t i end in t
         | _ => constr:(1)
         end
  end.

(** To find what a number equals, its place in an arbitrary statement is rewritten: [P t], with [P e] at hand. *)
Lemma equal_by_all : forall t e : R, (forall P : R -> Prop, P e -> P t) -> t = e.
Proof. intros t e H; apply (H (fun x => x = e)); reflexivity. Qed.

(** Inverses and differences as the ring sees them. *)
Ltac plain := unfold Rdiv; rewrite ?Rinv_mult, ?Rinv_inv, ?pow_inv.

(** Goal [sum_lt n f = ?s], where the body is a sum of monomials: one sum a monomial, what is fixed before it. *)
Ltac distribute :=
  lazymatch goal with
  | |- sum_lt _ (fun i => _ + _) = _ =>
      etransitivity; [apply sum_plus | apply f_equal2; distribute]
  | |- sum_lt _ (fun i => _ - _) = _ =>
      etransitivity; [apply sum_minus | apply f_equal2; distribute]
  | |- sum_lt _ (fun i => - _) = _ =>
      etransitivity; [apply sum_opp | apply f_equal; distribute]
  | |- sum_lt ?n ?f = _ =>
      let i := fresh "i" in let H := fresh "H" in
      let form := constr:(ltac:(intros i; let b := eval cbv beta in (f i) in
                                let c := fixed_part b i in let r := moving_part b i in exact (c, r)) : Z -> R * R) in
      lazymatch form with
      | fun i => (1, _) => reflexivity
      | fun _ => (?c, 1) => transitivity (sum_lt n (fun _ => c)); [apply sum_ext; intros; ring | apply sum_const; lia]
      | fun i => (?c, @?r i) => apply (sum_pull n f c r); intros; ring
      end
  end.

(** A sum that is in normal form. *)
Definition sum_done := sum_lt.

(** Goal [t = ?e]: the same number, each outermost sum in normal form, and [t] as a sum of monomials. *)
Ltac normal :=
  apply equal_by_all; let P := fresh "P" in let K := fresh "K" in intros P K;
  normal_sums P; change sum_done with sum_lt; exact K
with normal_sums P :=
  cbv beta; rewrite ?if_ind_0, ?if_ind; plain;
  repeat match goal with |- P ?t =>
    match t with context [sum_lt ?n ?f] =>
      let E := fresh "E" in
      eassert (E : sum_lt n f = _);
      [ eapply sum_same; [intros ? ?; normal | distribute]
      | cbv beta in E;
        lazymatch type of E with _ = ?e =>
          let e' := eval pattern sum_lt in e in
          lazymatch e' with ?g _ => let e'' := eval cbv beta in (g sum_done) in change (sum_lt n f = e'') in E end end;
        rewrite E; clear E ]
    end end;
  lazymatch goal with |- P ?t => ring_simplify t end;
  plain.

(** * Equal sums *)

(** A factor of a product that is a sum, and the product without it. *)
Ltac sum_factor t :=
  match t with
  | sum_lt _ _ => t
  | ?a * ?b => sum_factor b
  | ?a * ?b => sum_factor a
  | - ?a => sum_factor a
  end.

Ltac without t s :=
  match t with
  | ?x => let _ := match goal with _ => constr_eq x s end in constr:(1)
  | ?a * ?b => let c := without b s in constr:(a * c)
  | ?a * ?b => let c := without a s in constr:(c * b)
  | - ?a => let c := without a s in constr:(- c)
  end.

(** Goal [t = ?e]: all sums of a product in front. *)
Ltac prenex :=
  cbv beta;
  lazymatch goal with
  | |- sum_lt _ _ = _ => eapply sum_same; [intros ? ?; prenex | reflexivity]
  | |- ?t = _ =>
      tryif (let s := sum_factor t in idtac) then
        let s := sum_factor t in let r := without t s in
        lazymatch s with sum_lt ?m ?g =>
          transitivity (r * s); [ring | etransitivity; [symmetry; apply sum_scal_l |]];
          eapply sum_same; [intros ? ?; prenex | reflexivity]
        end
      else reflexivity
  end.

Ltac same_range :=
  lazymatch goal with |- sum_lt ?n _ = sum_lt ?m _ => first [constr_eq n m | replace m with n by lia] end.

(** Goal [_ = e], where [e] has all sums in front: the k-th of them, if it is over [n], comes first. *)
Ltac to_front n k e :=
  lazymatch k with
  | 1%nat => lazymatch e with sum_lt ?a _ => constr_eq a n end
  | 2%nat => lazymatch e with sum_lt ?a (fun i => sum_lt ?b (fun j => @?f i j)) =>
      constr_eq b n; refine (eq_trans _ (sum_comm b a (fun j i => f i j))) end
  | 3%nat => lazymatch e with sum_lt ?a (fun i => sum_lt ?b (fun j => sum_lt ?c (fun k => @?f i j k))) =>
      constr_eq c n; refine (eq_trans _ (eq_sym (sum_front_3 a b c f))) end
  | 4%nat => lazymatch e with sum_lt ?a (fun i => sum_lt ?b (fun j => sum_lt ?c (fun k => sum_lt ?d (fun l => @?f i j k l)))) =>
      constr_eq d n; refine (eq_trans _ (eq_sym (sum_front_4 a b c d f))) end
  | 5%nat => lazymatch e with
      sum_lt ?a (fun i => sum_lt ?b (fun j => sum_lt ?c (fun k => sum_lt ?d (fun l => sum_lt ?p (fun o => @?f i j k l o))))) =>
      constr_eq p n; refine (eq_trans _ (eq_sym (sum_front_5 a b c d p f))) end
  end.

(** Goal: an equation of products with all sums in front. Each order of summation is tried. *)
Ltac in_some_order leaf :=
  cbv beta;
  lazymatch goal with
  | |- sum_lt ?n _ = ?e =>
      first
        [ to_front n 1%nat e; apply sum_ext; intros ? ?; in_some_order leaf
        | to_front n 2%nat e; apply sum_ext; intros ? ?; in_some_order leaf
        | to_front n 3%nat e; apply sum_ext; intros ? ?; in_some_order leaf
        | to_front n 4%nat e; apply sum_ext; intros ? ?; in_some_order leaf
        | to_front n 5%nat e; apply sum_ext; intros ? ?; in_some_order leaf ]
  | |- ?t = ?e =>
      lazymatch e with sum_lt _ _ => fail | _ => idtac end; solve [leaf]
  end.

Ltac same_sum :=
  first
    [ same_range; apply sum_ext; intros ? ?; cbv beta; solve [ring]
    | etransitivity; [prenex | symmetry; etransitivity; [prenex | symmetry]]; in_some_order ltac:(leaf_equal) ]
with leaf_equal :=
  first [ reflexivity | ring | (progress unify_sums; first [reflexivity | ring | (unify_arguments exp; ring)]) | split_cases; solve [ring] ]
with unify_sums :=
  repeat match goal with
  | |- context [sum_lt ?n ?f] => match goal with
      | |- context [sum_lt ?m ?g] =>
          tryif constr_eq f g then fail else
            let E := fresh "E" in
            assert (E : sum_lt m g = sum_lt n f) by same_sum; rewrite E; clear E
      end
  end.

Ltac sums_equal :=
  rewrite ?mult_IZR; apply Rminus_diag_uniq; etransitivity; [normal |]; unify_sums;
  first [ring | field; side].

(** Sums beside each other under one, which often is enough. *)
Ltac sums_alike :=
  rewrite <- ?sum_plus, <- ?sum_minus, <- ?sum_scal_l, <- ?sum_scal_r, <- ?sum_div, <- ?sum_opp;
  repeat (rewrite <- ?sum_plus, <- ?sum_minus;
          first [ same_range; apply sum_ext; intros ? ?; cbv beta
                | match goal with |- ?f _ = ?f _ => apply f_equal end
                | match goal with |- ?f _ ?b = ?f _ ?b => apply (f_equal (fun z => f z b)) end ]);
  first [reflexivity | ring | split_cases; solve [ring | field; side]].

Global Instance sum_proper : forall n, Proper (pointwise_relation Z eq ==> eq) (sum_lt n).
Proof. intros n f g H; apply sum_ext; intros i _; apply H. Qed.

Global Instance max_proper : forall n, Proper (pointwise_relation Z eq ==> eq) (max_lt n).
Proof. intros n f g H; apply maxN_ext; intros i _; apply H. Qed.

Lemma exp_minus : forall a b, exp (a - b) = exp a * / exp b.
Proof. intros; unfold Rminus; rewrite exp_plus, exp_Ropp; reflexivity. Qed.

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

Ltac term_law :=
  cbv beta; lazymatch goal with |- context [(_ + 0)%Z] => rewrite ?Z.add_0_r | |- _ => idtac end; hypotheses;
  first
    [ solve [linear_term]
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

(** Roots of sums as numbers above 0, of which no more is known; and choices that such a sign decides. *)
Ltac hold_roots :=
  repeat match goal with
  | |- context [Rltb 0 ?e] => lazymatch e with context [sum_lt] => idtac end;
      rewrite (Rltb_true 0 e) by sign_of_sum; cbv iota
  end;
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
    [ (lazymatch goal with |- context [sqrt (sum_lt _ _)] => idtac | |- context [sqrt (_ + _)] => idtac end;
       choose_by_sums; hold_roots;
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

Ltac without_shift :=
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

(** All that follows from the form, with maxima held where that is right. *)
Ltac derive_held :=
  cbv beta;
  lazymatch goal with
  | |- dual ?f _ _ => first [hold_maximum | dual_law]; derive_held
  | |- steady _ _ => dual_step; derive_held
  | |- _ -> dual _ _ _ => intro; derive_held
  | |- (0 <= _ < _)%Z -> _ => intro; derive_held
  | |- forall _ : Z, _ => intro; derive_held
  | |- _ => idtac
  end.

(** The derivative along any direction of what is printed as the forward. *)
Ltac derivative :=
  hypotheses; eapply dual_is_derive;
  [ lazymatch goal with |- context [max_lt] => derive_held | |- _ => derive end | ];
  cbv beta; lazymatch goal with |- context [0 * _] => repeat setoid_rewrite line_at_0 | |- _ => idtac end;
  lazymatch goal with |- context [INR] => cbn [INR Init.Nat.pred] | |- _ => idtac end;
  lazymatch goal with
  | |- _ = _ :> R => real_equation
  | |- 0 < _ => sign_of_sum
  | |- _ => asked
  end.

(** A printed theorem: its parts, with everything named. *)
Ltac start := intros; repeat match goal with |- _ /\ _ => split end; intros.

(** Two programs with one value. *)
Ltac same_value := cbv beta; hypotheses; first [reflexivity | real_equation].
