(** Equations between sums over ranges of any size.

    Sums are brought to a form in which each stands over what depends on its index alone, products of sums side by
    side; equal sums are then found by extensionality and by changing the order of summation. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coq Require Import Setoid Morphisms.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions Tactics.
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
Definition sum_other := sum_lt.

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
  change sum_done with sum_lt;
  first
    [ same_range; apply sum_ext; intros ? ?; cbv beta; solve [ring]
    | etransitivity; [prenex | symmetry; etransitivity; [prenex | symmetry]]; in_some_order ltac:(leaf_equal) ]
with leaf_equal :=
  first [ reflexivity | ring | (progress unify_sums; first [reflexivity | ring | (unify_arguments exp; ring)]) | split_cases; solve [ring] ]
with unify_sums := (* each with those that are left, once, however often it stands there *)
  repeat match goal with |- context [sum_lt ?n ?f] =>
    change (sum_lt n f) with (sum_done n f);
    repeat match goal with |- context [sum_lt ?m ?g] =>
      first
        [ let E := fresh "E" in
          assert (E : sum_lt m g = sum_lt n f) by same_sum;
          change (sum_lt n f) with (sum_done n f) in E; rewrite E; clear E
        | change (sum_lt m g) with (sum_other m g) ]
    end;
    change sum_other with sum_lt
  end;
  change sum_done with sum_lt.

(** A sum of which an indicator leaves one term. *)
Lemma ind_square : forall c, ind c ^ 2 = ind c.
Proof. intros []; unfold ind; ring. Qed.

Ltac one_term :=
  match goal with |- context [sum_lt ?n ?f] =>
    let place := constr:(fun at_term : Z => ltac:(
      let b := eval cbv beta in (f at_term) in
      match b with
      | context [ind (Z.eqb at_term ?l)] => exact l
      | context [ind (Z.eqb ?l at_term)] => exact l
      end)) in
    lazymatch place with
    | fun _ => ?l =>
        let E := fresh "E" in
        assert (E : sum_lt n f = f l)
          by (apply (sum_single n l f); [hypotheses; lia
             | let j := fresh "j" in let N := fresh "N" in
               intros j ? N; cbv beta; rewrite ?(proj2 (Z.eqb_neq j l) N), ?(proj2 (Z.eqb_neq l j) (not_eq_sym N));
               unfold ind; ring]);
        cbv beta in E; rewrite E; clear E
    end
  end.

Ltac one_terms :=
  progress (rewrite ?Z.add_0_r; repeat one_term);
  rewrite ?Z.eqb_refl; change (ind true) with 1; rewrite ?ind_square.

Ltac sums_equal :=
  rewrite ?mult_IZR; apply Rminus_diag_uniq; etransitivity; [normal |]; unify_sums;
  first [ring | field; side | (one_terms; unify_sums; first [ring | field; side])].

(** Sums beside each other under one, which often is enough. *)
Ltac sums_alike :=
  rewrite <- ?sum_plus, <- ?sum_minus, <- ?sum_scal_l, <- ?sum_scal_r, <- ?sum_div, <- ?sum_opp;
  repeat (rewrite <- ?sum_plus, <- ?sum_minus;
          first [ same_range; apply sum_ext; intros ? ?; cbv beta
                | match goal with |- ?f _ = ?f _ => apply f_equal end
                | match goal with |- ?f _ ?b = ?f _ ?b => apply (f_equal (fun z => f z b)) end ]);
  first [reflexivity | ring | split_cases; solve [ring | field; side]].
