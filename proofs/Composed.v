(** Derivatives of composed programs, one definition of the forward after the other: each is a curve of which a value and
    a derivative are known, and no more. Values that the JVP computes too have one name; what remains is linear in the
    tangents. *)

From Coq Require Import Reals Lra Lia ZArith Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions Tactics Derivatives Algebra Laws Axes Labels Bilinear.
Open Scope R_scope.

(** * Softmax: what does not depend on the maximum that keeps exponentials small *)

Lemma softmax_unshifted : forall n s m i, exp (s i - m) / sum_lt n (fun k => exp (s k - m)) = exp (s i) / sum_lt n (fun k => exp (s k)).
Proof.
  intros n s m i; rewrite exp_minus, (sum_ext n _ (fun k => exp (s k) * / exp m)), sum_scal_r by (intros; apply exp_minus).
  unfold Rdiv; rewrite Rinv_mult, Rinv_inv.
  replace (exp (s i) * / exp m * (/ sum_lt n (fun k => exp (s k)) * exp m))
    with (exp (s i) * / sum_lt n (fun k => exp (s k)) * (/ exp m * exp m)) by ring.
  rewrite Rinv_l by (apply Rgt_not_eq, exp_pos); ring.
Qed.

Lemma dual_softmax : forall n (s : R -> Z -> R) v d i, (1 <= n)%Z ->
  (forall k, dual (fun t => s t k) (v k) (d k)) ->
  dual (fun t => exp (s t i - max_lt n (fun k => s t k)) / sum_lt n (fun k => exp (s t k - max_lt n (fun k => s t k))))
    (exp (v i - max_lt n (fun k => v k)) / sum_lt n (fun k => exp (v k - max_lt n (fun k => v k))))
    (exp (v i - max_lt n (fun k => v k)) / sum_lt n (fun k => exp (v k - max_lt n (fun k => v k))) *
     (d i - sum_lt n (fun k => exp (v k - max_lt n (fun k => v k)) / sum_lt n (fun k => exp (v k - max_lt n (fun k => v k))) * d k))).
Proof.
  intros n s v d i Hn H.
  assert (P : 0 < sum_lt n (fun k => exp (v k))) by (apply sum_pos; [lia | intros; apply exp_pos]).
  apply (dual_ext (fun t => exp (s t i) / sum_lt n (fun k => exp (s t k)))).
  { intro t; symmetry; apply (softmax_unshifted n (s t)). }
  rewrite (softmax_unshifted n v).
  set (m := max_lt n (fun k => v k)).
  rewrite (sum_ext n (fun k => exp (v k - m) / sum_lt n (fun k => exp (v k - m)) * d k)
             (fun k => exp (v k) / sum_lt n (fun k => exp (v k)) * d k))
    by (intros; rewrite (softmax_unshifted n v); reflexivity).
  eapply dual_eq; [eapply dual_div; [apply dual_exp, H | apply dual_sum; intros k _; apply dual_exp, H | lra] | reflexivity |].
  rewrite (sum_ext n (fun k => exp (v k) / sum_lt n (fun k => exp (v k)) * d k)
             (fun k => / sum_lt n (fun k => exp (v k)) * (d k * exp (v k)))) by (intros; unfold Rdiv; ring).
  rewrite sum_scal_l; field; lra.
Qed.

(** * Softmax of what a mask leaves *)

Lemma masked_sum_pos : forall n (p : Z -> bool) (s : Z -> R) m, (exists k, (0 <= k < n)%Z /\ p k = true) ->
  0 < sum_lt n (fun k => if p k then exp (s k - m) else 0).
Proof.
  intros n p s m [k [Hk Pk]]; apply (sum_pos_one n k); [exact Hk | intros i _; destruct (p i); [apply Rlt_le, exp_pos | lra] |].
  rewrite Pk; apply exp_pos.
Qed.

Lemma masked_unshifted : forall n (p : Z -> bool) s m i,
  (if p i then exp (s i - m) else 0) / sum_lt n (fun k => if p k then exp (s k - m) else 0)
  = (if p i then exp (s i - 0) else 0) / sum_lt n (fun k => if p k then exp (s k - 0) else 0).
Proof.
  intros n p s m i.
  assert (E : forall k, (if p k then exp (s k - m) else 0) = (if p k then exp (s k - 0) else 0) * / exp m).
  { intro k; destruct (p k); [rewrite Rminus_0_r; apply exp_minus | ring]. }
  rewrite E, (sum_ext n _ (fun k => (if p k then exp (s k - 0) else 0) * / exp m)), sum_scal_r by (intros; apply E).
  unfold Rdiv; rewrite Rinv_mult, Rinv_inv.
  set (a := if p i then exp (s i - 0) else 0); set (b := sum_lt n (fun k => if p k then exp (s k - 0) else 0)).
  replace (a * / exp m * (/ b * exp m)) with (a * / b * (/ exp m * exp m)) by ring.
  rewrite Rinv_l by (apply Rgt_not_eq, exp_pos); ring.
Qed.

Lemma dual_masked_softmax : forall n (p : Z -> bool) (s : R -> Z -> R) v d i, (exists k, (0 <= k < n)%Z /\ p k = true) ->
  (forall k, dual (fun t => s t k) (v k) (d k)) ->
  dual (fun t => (if p i then exp (s t i - max_where n p (fun k => s t k)) else 0)
                 / sum_lt n (fun k => if p k then exp (s t k - max_where n p (fun k => s t k)) else 0))
    ((if p i then exp (v i - max_where n p (fun k => v k)) else 0)
     / sum_lt n (fun k => if p k then exp (v k - max_where n p (fun k => v k)) else 0))
    ((if p i then exp (v i - max_where n p (fun k => v k)) else 0)
     / sum_lt n (fun k => if p k then exp (v k - max_where n p (fun k => v k)) else 0) *
     (d i - sum_lt n (fun k => (if p k then exp (v k - max_where n p (fun k => v k)) else 0)
                               / sum_lt n (fun k => if p k then exp (v k - max_where n p (fun k => v k)) else 0) * d k))).
Proof.
  intros n p s v d i P H.
  assert (Q := masked_sum_pos n p v 0 P).
  apply (dual_ext (fun t => (if p i then exp (s t i - 0) else 0) / sum_lt n (fun k => if p k then exp (s t k - 0) else 0))).
  { intro t; symmetry; apply (masked_unshifted n p (s t)). }
  rewrite (masked_unshifted n p v); set (m := max_where n p (fun k => v k)).
  rewrite (sum_ext n (fun k => (if p k then exp (v k - m) else 0) / sum_lt n (fun k => if p k then exp (v k - m) else 0) * d k)
             (fun k => (if p k then exp (v k - 0) else 0) / sum_lt n (fun k => if p k then exp (v k - 0) else 0) * d k))
    by (intros; rewrite (masked_unshifted n p v); reflexivity).
  assert (E : forall k, dual (fun t => if p k then exp (s t k - 0) else 0) (if p k then exp (v k - 0) else 0)
                          ((if p k then exp (v k - 0) else 0) * d k)).
  { intro k; destruct (p k).
    - eapply dual_eq; [apply dual_exp, dual_minus_const, H | reflexivity | ring].
    - eapply dual_eq; [apply dual_const | reflexivity | ring]. }
  eapply dual_eq;
    [eapply dual_div; [apply E | apply (dual_sum n (fun t k => if p k then exp (s t k - 0) else 0)); intros k _; apply E | lra]
    | reflexivity |].
  rewrite (sum_ext n (fun k => (if p k then exp (v k - 0) else 0) / sum_lt n (fun k => if p k then exp (v k - 0) else 0) * d k)
             (fun k => / sum_lt n (fun k => if p k then exp (v k - 0) else 0) * ((if p k then exp (v k - 0) else 0) * d k)))
    by (intros; unfold Rdiv; ring).
  rewrite sum_scal_l; field; lra.
Qed.

Lemma some_counted : forall n (p : Z -> bool),
  sum_lt n (fun k => if Rltb 0 (if p k then 1 else 0) then 1 else 0) > 0 -> exists k, (0 <= k < n)%Z /\ p k = true.
Proof.
  intros n p H; destruct (Classical_Prop.classic (exists k, (0 <= k < n)%Z /\ p k = true)) as [K|K]; [exact K|exfalso].
  rewrite sum_all_zero in H; [lra|]; intros i Hi; destruct (p i) eqn:F; [exfalso; apply K; exists i; split; assumption|].
  destruct (Rltb_spec 0 0); [lra | reflexivity].
Qed.

(** Something is left: by a hypothesis that counts, or at the first place. *)
Ltac some_kept :=
  cbv beta;
  first
    [ assumption
    | match goal with
      | H : forall i j : Z, _ -> _ -> sum_lt _ (fun k => if Rltb 0 (if _ then 1 else 0) then 1 else 0) > 0 |- _ =>
          eapply some_counted, H; eassumption
      end
    | exists 0%Z; split; [lia | first [reflexivity | (apply Z.leb_le; lia)]] ].

(** * Curves *)

(** Names of bound variables below are such as no tensor has. *)
Ltac head_value b :=
  lazymatch b with
  | let x := ?A in _ => exact A
  | ?f _ => head_value f
  end.

Ltac body_at b v k :=
  lazymatch b with
  | let x := _ in @?B x => let r := eval cbv beta in (B v) in k r
  | ?f ?a => body_at f v ltac:(fun r => let r' := eval cbv beta in (r a) in k r')
  end.

Ltac known_curve :=
  match goal with H : context [dual] |- _ => apply H; eassumption end.

(** A definition that moves, by itself. *)
Ltac entries_derived :=
  cbv beta;
  lazymatch goal with
  | |- dual (fun t => ?W t) _ _ => is_var W; known_curve
  | |- dual (fun t => ?W t _) _ _ => is_var W; known_curve
  | |- dual (fun t => ?W t _ _) _ _ => is_var W; known_curve
  | |- dual (fun t => ?W t _ _ _) _ _ => is_var W; known_curve
  | |- dual (fun t => ?W t _ _ _ _) _ _ => is_var W; known_curve
  | |- dual (fun t => ?W t _ _ _ _ _) _ _ => is_var W; known_curve
  | |- dual (fun t => exp (_ - max_lt ?n (fun k => @?s t k)) / sum_lt ?n _) _ _ =>
      eapply (dual_softmax n s); [lia | intro; entries_derived]
  | |- dual (fun t => (if _ then exp (_ - max_where ?n ?p (fun k => @?s t k)) else 0) / sum_lt ?n _) _ _ =>
      eapply (dual_masked_softmax n p s); [solve [some_kept] | intro; entries_derived]
  | |- dual _ _ _ => first [dual_law | fail 1]; entries_derived
  | |- steady _ _ => dual_step; entries_derived
  | |- _ -> _ => intro; entries_derived
  | |- forall _, _ => intro; entries_derived
  | |- _ => idtac
  end.

Ltac values_unfolded := repeat match goal with h := _ |- _ => progress unfold h end; cbv beta.

Ltac entry_curve :=
  intros; entries_derived;
  lazymatch goal with |- dual _ _ _ => fail | _ => idtac end;
  values_unfolded; hypotheses; first [solve [sign_of_sum] | solve [side]].

(** The value of a curve by the name that it has in the JVP, if it has one. *)
Ltac by_its_name H :=
  lazymatch type of H with
  | forall e_i e_j e_k e_l : Z, dual (fun t => ?V t e_i e_j e_k e_l) (@?v e_i e_j e_k e_l) (@?d e_i e_j e_k e_l) =>
      named v ltac:(fun w =>
        let d' := constr:(fun e_i e_j e_k e_l : Z => ltac:(
          let u := eval cbv beta in (v e_i e_j e_k e_l) in let e := eval cbv beta in (d e_i e_j e_k e_l) in
          let p := eval pattern u in e in
          lazymatch p with ?q _ => let r := eval cbv beta in (q (w e_i e_j e_k e_l)) in exact r end)) in
        let T := eval cbv beta in (forall e_i e_j e_k e_l : Z, dual (fun t => V t e_i e_j e_k e_l) (w e_i e_j e_k e_l) (d' e_i e_j e_k e_l)) in
        change T in H)
  | forall e_i e_j e_k : Z, dual (fun t => ?V t e_i e_j e_k) (@?v e_i e_j e_k) (@?d e_i e_j e_k) =>
      named v ltac:(fun w =>
        let d' := constr:(fun e_i e_j e_k : Z => ltac:(
          let u := eval cbv beta in (v e_i e_j e_k) in let e := eval cbv beta in (d e_i e_j e_k) in
          let p := eval pattern u in e in
          lazymatch p with ?q _ => let r := eval cbv beta in (q (w e_i e_j e_k)) in exact r end)) in
        let T := eval cbv beta in (forall e_i e_j e_k : Z, dual (fun t => V t e_i e_j e_k) (w e_i e_j e_k) (d' e_i e_j e_k)) in
        change T in H)
  | forall e_i e_j : Z, dual (fun t => ?V t e_i e_j) (@?v e_i e_j) (@?d e_i e_j) =>
      named v ltac:(fun w =>
        let d' := constr:(fun e_i e_j : Z => ltac:(
          let u := eval cbv beta in (v e_i e_j) in let e := eval cbv beta in (d e_i e_j) in
          let p := eval pattern u in e in
          lazymatch p with ?q _ => let r := eval cbv beta in (q (w e_i e_j)) in exact r end)) in
        let T := eval cbv beta in (forall e_i e_j : Z, dual (fun t => V t e_i e_j) (w e_i e_j) (d' e_i e_j)) in
        change T in H)
  | forall e_i : Z, dual (fun t => ?V t e_i) (@?v e_i) (@?d e_i) =>
      named v ltac:(fun w =>
        let d' := constr:(fun e_i : Z => ltac:(
          let u := eval cbv beta in (v e_i) in let e := eval cbv beta in (d e_i) in
          let p := eval pattern u in e in
          lazymatch p with ?q _ => let r := eval cbv beta in (q (w e_i)) in exact r end)) in
        let T := eval cbv beta in (forall e_i : Z, dual (fun t => V t e_i) (w e_i) (d' e_i)) in
        change T in H)
  | dual (fun t => ?V t) ?v ?d =>
      named v ltac:(fun w =>
        let p := eval pattern v in d in
        lazymatch p with ?q _ => let r := eval cbv beta in (q w) in change (dual (fun t => V t) w r) in H end)
  end.

(** The same where it is read at other indices. *)
Ltac name_inside H :=
  lazymatch type of H with
  | forall e_i e_j e_k e_l : Z, dual _ (?w e_i e_j e_k e_l) (@?d e_i e_j e_k e_l) =>
      lazymatch d with
      | context [max_lt] =>
          let B := eval unfold w in w in let E := fresh in
          assert (E : forall e_i e_j e_k e_l : Z, ltac:(let b := eval cbv beta in (B e_i e_j e_k e_l) in exact b) = w e_i e_j e_k e_l)
            by (intros; reflexivity); setoid_rewrite E in H; clear E
      | _ => idtac
      end
  | forall e_i e_j e_k : Z, dual _ (?w e_i e_j e_k) (@?d e_i e_j e_k) =>
      lazymatch d with
      | context [max_lt] =>
          let B := eval unfold w in w in let E := fresh in
          assert (E : forall e_i e_j e_k : Z, ltac:(let b := eval cbv beta in (B e_i e_j e_k) in exact b) = w e_i e_j e_k)
            by (intros; reflexivity); setoid_rewrite E in H; clear E
      | _ => idtac
      end
  | forall e_i e_j : Z, dual _ (?w e_i e_j) (@?d e_i e_j) =>
      lazymatch d with
      | context [max_lt] =>
          let B := eval unfold w in w in let E := fresh in
          assert (E : forall e_i e_j : Z, ltac:(let b := eval cbv beta in (B e_i e_j) in exact b) = w e_i e_j)
            by (intros; reflexivity); setoid_rewrite E in H; clear E
      | _ => idtac
      end
  | _ => idtac
  end.

Ltac cut_curve V H A :=
  pose (V := A);
  lazymatch type of A with
  | R -> Z -> Z -> Z -> Z -> R => eassert (H : forall e_i e_j e_k e_l : Z, dual (fun t => V t e_i e_j e_k e_l) _ _) by (unfold V; entry_curve)
  | R -> Z -> Z -> Z -> R => eassert (H : forall e_i e_j e_k : Z, dual (fun t => V t e_i e_j e_k) _ _) by (unfold V; entry_curve)
  | R -> Z -> Z -> R => eassert (H : forall e_i e_j : Z, dual (fun t => V t e_i e_j) _ _) by (unfold V; entry_curve)
  | R -> Z -> R => eassert (H : forall e_i : Z, dual (fun t => V t e_i) _ _) by (unfold V; entry_curve)
  | R -> R => eassert (H : dual (fun t => V t) _ _) by (unfold V; entry_curve)
  end;
  cbv beta in H; by_its_name H; name_inside H.

(** Curves that are known at indices inside ranges alone, as where a hypothesis excludes a seam. Which ranges follows from
    what they are made of, or is that of a hypothesis. *)
Ltac impossible_here :=
  repeat match goal with h := _ |- _ => unfold h in *; clear h end; cbv beta in *; hypotheses; contradiction.

Ltac entry_curve_inside :=
  intros; entries_derived;
  lazymatch goal with |- dual _ _ _ => fail | _ => idtac end;
  first [ solve [impossible_here] | values_unfolded; hypotheses; first [solve [sign_of_sum] | solve [side]] ].

(** [d] with [v] by its name [w]. *)
Ltac with_name_2 v w d :=
  constr:(fun e_i e_j : Z => ltac:(
    let u := eval cbv beta in (v e_i e_j) in let e := eval cbv beta in (d e_i e_j) in
    let p := eval pattern u in e in
    lazymatch p with ?q _ => let r := eval cbv beta in (q (w e_i e_j)) in exact r end)).

Ltac with_name_3 v w d :=
  constr:(fun e_i e_j e_k : Z => ltac:(
    let u := eval cbv beta in (v e_i e_j e_k) in let e := eval cbv beta in (d e_i e_j e_k) in
    let p := eval pattern u in e in
    lazymatch p with ?q _ => let r := eval cbv beta in (q (w e_i e_j e_k)) in exact r end)).

Ltac by_its_name_inside H :=
  lazymatch type of H with
  | forall e_i e_j e_k : Z, (0 <= e_i < ?n)%Z -> (0 <= e_j < ?m)%Z -> (0 <= e_k < ?l)%Z ->
      dual (fun t => ?V t e_i e_j e_k) (@?v e_i e_j e_k) (@?d e_i e_j e_k) =>
      named v ltac:(fun w => let d' := with_name_3 v w d in
        let T := eval cbv beta in (forall e_i e_j e_k : Z, (0 <= e_i < n)%Z -> (0 <= e_j < m)%Z -> (0 <= e_k < l)%Z ->
          dual (fun t => V t e_i e_j e_k) (w e_i e_j e_k) (d' e_i e_j e_k)) in
        change T in H)
  | forall e_i e_j e_k : Z, (0 <= e_i < ?n)%Z -> (0 <= e_j < ?m)%Z ->
      dual (fun t => ?V t e_i e_j e_k) (@?v e_i e_j e_k) (@?d e_i e_j e_k) =>
      named v ltac:(fun w => let d' := with_name_3 v w d in
        let T := eval cbv beta in (forall e_i e_j e_k : Z, (0 <= e_i < n)%Z -> (0 <= e_j < m)%Z ->
          dual (fun t => V t e_i e_j e_k) (w e_i e_j e_k) (d' e_i e_j e_k)) in
        change T in H)
  | forall e_i e_j : Z, (0 <= e_i < ?n)%Z -> (0 <= e_j < ?m)%Z ->
      dual (fun t => ?V t e_i e_j) (@?v e_i e_j) (@?d e_i e_j) =>
      named v ltac:(fun w => let d' := with_name_2 v w d in
        let T := eval cbv beta in (forall e_i e_j : Z, (0 <= e_i < n)%Z -> (0 <= e_j < m)%Z ->
          dual (fun t => V t e_i e_j) (w e_i e_j) (d' e_i e_j)) in
        change T in H)
  | forall e_i e_j : Z, (0 <= e_i < ?n)%Z ->
      dual (fun t => ?V t e_i e_j) (@?v e_i e_j) (@?d e_i e_j) =>
      named v ltac:(fun w => let d' := with_name_2 v w d in
        let T := eval cbv beta in (forall e_i e_j : Z, (0 <= e_i < n)%Z ->
          dual (fun t => V t e_i e_j) (w e_i e_j) (d' e_i e_j)) in
        change T in H)
  end.

Ltac cut_curve_inside V H A :=
  pose (V := A);
  lazymatch type of A with
  | R -> Z -> Z -> Z -> R => first
      [ eassert (H : forall e_i e_j e_k : Z, (0 <= e_i < _)%Z -> (0 <= e_j < _)%Z -> dual (fun t => V t e_i e_j e_k) _ _)
          by (unfold V; entry_curve_inside)
      | match goal with K : forall i j k : Z, (0 <= i < ?n)%Z -> (0 <= j < ?m)%Z -> (0 <= k < ?l)%Z -> _ <> _ |- _ =>
          eassert (H : forall e_i e_j e_k : Z, (0 <= e_i < n)%Z -> (0 <= e_j < m)%Z -> (0 <= e_k < l)%Z ->
            dual (fun t => V t e_i e_j e_k) _ _) by (unfold V; entry_curve_inside) end ]
  | R -> Z -> Z -> R => first
      [ eassert (H : forall e_i e_j : Z, (0 <= e_i < _)%Z -> dual (fun t => V t e_i e_j) _ _)
          by (unfold V; entry_curve_inside)
      | match goal with K : forall i j : Z, (0 <= i < ?n)%Z -> (0 <= j < ?m)%Z -> _ <> _ |- _ =>
          eassert (H : forall e_i e_j : Z, (0 <= e_i < n)%Z -> (0 <= e_j < m)%Z ->
            dual (fun t => V t e_i e_j) _ _) by (unfold V; entry_curve_inside) end
      | eassert (H : forall e_i e_j : Z, (0 <= e_i < _)%Z -> (0 <= e_j < _)%Z -> dual (fun t => V t e_i e_j) _ _)
          by (unfold V; entry_curve_inside) ]
  end;
  cbv beta in H; by_its_name_inside H.

Ltac curves :=
  lazymatch goal with
  | |- dual ?T ?v ?d =>
      tryif (let A := constr:(fun time : R => ltac:(let b := eval cbv beta in (T time) in head_value b)) in idtac) then
        let A := constr:(fun time : R => ltac:(let b := eval cbv beta in (T time) in head_value b)) in
        let X := lazymatch type of A with R -> ?X => X end in
        let it := fresh "it" in
        let B := constr:(fun (time : R) (it : X) => ltac:(let b := eval cbv beta in (T time) in body_at b it ltac:(fun r => exact r))) in
        lazymatch A with
        | fun _ => ?a =>
            tryif worth_a_name a then
              named a ltac:(fun w => let T' := constr:(fun time : R => B time w) in let T' := eval cbv beta in T' in
                                     change (dual T' v d))
            else (let T' := constr:(fun time : R => B time a) in let T' := eval cbv beta in T' in change (dual T' v d))
        | _ =>
            let a := eval cbv beta in (A 0) in
            let V := fresh "curve" in let H := fresh "along" in
            first
              [ worth_a_curve a; first [cut_curve V H A | cut_curve_inside V H A];
                let T' := constr:(fun time : R => B time (V time)) in let T' := eval cbv beta in T' in change (dual T' v d); clearbody V
              | let T' := constr:(fun time : R => B time (A time)) in let T' := eval cbv beta in T' in change (dual T' v d) ]
        end;
        curves
      else idtac
  end
with worth_a_curve a :=
  lazymatch a with
  | context [max_lt] => idtac
  | context [max_where] => idtac
  | _ => worth_a_name a
  end.

Ltac forget := repeat match goal with v := _ |- _ => clearbody v end.

(** Sums of which every term has the factor 0. *)
Ltac without_zeros :=
  repeat match goal with |- context [sum_lt ?n ?f] =>
    lazymatch f with context [0%R] => idtac end;
    let E := fresh "E" in assert (E : sum_lt n f = 0) by (repeat (apply sum_all_zero; intros ? _); ring); rewrite E; clear E
  end.

Ltac linear_with_choices :=
  etransitivity; [monomials | symmetry; etransitivity; [monomials | symmetry]];
  without_zeros; match_monomials; solve [ring].

Ltac linear_in_tangents :=
  first [ reflexivity | solve [ring] | bilinear | solve [field; side] ].

(** Choices have no curve of their own: their conditions are known inside ranges alone. *)
Ltac choices_unfolded :=
  repeat match goal with h := ?B |- _ => lazymatch B with context [if _ then _ else _] => unfold h in *; clear h end end; cbv beta.

Lemma if_above : forall (v a b : R), v <> 0 -> (if Rltb 0 v then a else b) = if Rltb v 0 then b else a.
Proof. intros v a b N; destruct (Rltb_spec 0 v), (Rltb_spec v 0); reflexivity || (exfalso; lra). Qed.

(** Goal [t = ?e]: whether a number that is not 0 is above 0 as whether it is below. *)
Ltac on_one_side :=
  cbv beta;
  lazymatch goal with
  | |- sum_lt _ _ = _ => eapply sum_same; [intros ? ?; on_one_side | reflexivity]
  | |- ?t = _ =>
      lazymatch t with
      | if Rltb 0 ?v then ?a else ?b => first
          [ etransitivity; [apply (if_above v a b); values_unfolded; hypotheses; assumption | on_one_side] | reflexivity ]
      | context [Rltb 0 _] =>
          lazymatch t with
          | ?a + ?b => etransitivity; [apply f_equal2; on_one_side | reflexivity]
          | ?a - ?b => etransitivity; [apply f_equal2; on_one_side | reflexivity]
          | ?a * ?b => etransitivity; [apply f_equal2; on_one_side | reflexivity]
          | ?a / ?b => etransitivity; [apply (f_equal (fun z => z / b)); on_one_side | reflexivity]
          | _ => reflexivity
          end
      | _ => reflexivity
      end
  end.

(** A weight that a mask makes 0 needs no choice by the mask beside it. *)
Lemma masked_twice : forall (c : bool) (a z d : R),
  (if c then a else 0) / z * (if c then d else 0) = (if c then a else 0) / z * d.
Proof. intros [] a z d; [reflexivity | unfold Rdiv; ring]. Qed.

Ltac under_masks :=
  values_unfolded; setoid_rewrite masked_twice;
  lazymatch goal with |- (if ?c then _ else _) / _ * _ = _ => destruct c end;
  first [reflexivity | solve [unfold Rdiv; ring]].

(** The derivative of a composed program; [names] are the tangents. *)
Ltac composed_derivative names :=
  lazymatch goal with |- is_derive ?f 0 ?d =>
    mark names;
    let F := fresh "F" in let E := fresh "E" in
    remember f as F eqn:E; name_values; subst F;
    eapply dual_is_derive; [curves; entries_derived | ];
    cbv beta;
    lazymatch goal with
    | |- _ = _ :> R => first
        [ lazymatch goal with |- context [Rltb 0 _] =>
            solve [symmetry; etransitivity; [on_one_side | symmetry]; forget; linear_with_choices] end
        | lazymatch goal with |- context [max_where] => solve [under_masks] end
        | solve [forget; linear_in_tangents]
        | choices_unfolded; symmetry; etransitivity; [on_one_side | symmetry]; forget; linear_with_choices ]
    | |- _ => first
        [ solve [values_unfolded; first [sign_of_sum | asked]]
        | repeat match goal with h := _ |- _ => unfold h in *; clear h end; cbv beta in *; hypotheses; contradiction ]
    end
  end.

(** Hypotheses without the definitions inside them. *)
Ltac plain_hypotheses := repeat match goal with H : let _ := _ in _ |- _ => progress cbv beta zeta in H end.
