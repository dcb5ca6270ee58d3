(** Functions by pieces: comparisons as booleans, what stays as it is near a point, and derivatives across seams. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves.
Open Scope R_scope.

Definition Rltb (a b : R) : bool := if Rlt_dec a b then true else false.
Definition Rleb (a b : R) : bool := if Rle_dec a b then true else false.
Definition Reqb (a b : R) : bool := if Req_EM_T a b then true else false.

Lemma Rltb_spec : forall a b, reflect (a < b) (Rltb a b).
Proof. intros; unfold Rltb; destruct (Rlt_dec a b); constructor; assumption. Qed.

Lemma Rleb_spec : forall a b, reflect (a <= b) (Rleb a b).
Proof. intros; unfold Rleb; destruct (Rle_dec a b); constructor; assumption. Qed.

Lemma Reqb_spec : forall a b, reflect (a = b) (Reqb a b).
Proof. intros; unfold Reqb; destruct (Req_EM_T a b); constructor; assumption. Qed.

Lemma Rltb_true : forall a b, a < b -> Rltb a b = true.
Proof. intros a b H; destruct (Rltb_spec a b); lra || reflexivity. Qed.
Lemma Rltb_false : forall a b, b <= a -> Rltb a b = false.
Proof. intros a b H; destruct (Rltb_spec a b); lra || reflexivity. Qed.
Lemma Rleb_true : forall a b, a <= b -> Rleb a b = true.
Proof. intros a b H; destruct (Rleb_spec a b); lra || reflexivity. Qed.
Lemma Rleb_false : forall a b, b < a -> Rleb a b = false.
Proof. intros a b H; destruct (Rleb_spec a b); lra || reflexivity. Qed.
Lemma Reqb_true : forall a b, a = b -> Reqb a b = true.
Proof. intros a b H; destruct (Reqb_spec a b); lra || reflexivity. Qed.
Lemma Reqb_false : forall a b, a <> b -> Reqb a b = false.
Proof. intros a b H; destruct (Reqb_spec a b); congruence || reflexivity. Qed.

(** * What has one value near time 0: truth values, integers. *)

Definition steady {A : Type} (f : R -> A) (v : A) : Prop := locally 0 (fun t => f t = v).

Lemma steady_const : forall (A : Type) (v : A), steady (fun _ => v) v.
Proof. intros A v; unfold steady; apply filter_forall; reflexivity. Qed.

Lemma steady_map : forall (A B : Type) (h : A -> B) f v, steady f v -> steady (fun t => h (f t)) (h v).
Proof. intros A B h f v H; unfold steady in *; revert H; apply filter_imp; intros t ->; reflexivity. Qed.

Lemma steady_map2 : forall (A B C : Type) (h : A -> B -> C) f g v w,
  steady f v -> steady g w -> steady (fun t => h (f t) (g t)) (h v w).
Proof.
  intros A B C h f g v w H K; unfold steady in *; generalize (filter_and _ _ H K); apply filter_imp.
  intros t [-> ->]; reflexivity.
Qed.

Lemma steady_Rltb : forall f g a b c d, dual f a b -> dual g c d -> a <> c -> steady (fun t => Rltb (f t) (g t)) (Rltb a c).
Proof.
  intros f g a b c d Hf Hg N; unfold steady; destruct (Rltb_spec a c).
  - generalize (dual_lt _ _ _ _ _ _ Hf Hg r); apply filter_imp; intros t H; apply Rltb_true; lra.
  - assert (L : c < a) by lra.
    generalize (dual_lt _ _ _ _ _ _ Hg Hf L); apply filter_imp; intros t H; apply Rltb_false; lra.
Qed.

Lemma steady_Rleb : forall f g a b c d, dual f a b -> dual g c d -> a <> c -> steady (fun t => Rleb (f t) (g t)) (Rleb a c).
Proof.
  intros f g a b c d Hf Hg N; unfold steady; destruct (Rleb_spec a c).
  - assert (L : a < c) by lra.
    generalize (dual_lt _ _ _ _ _ _ Hf Hg L); apply filter_imp; intros t H; apply Rleb_true; lra.
  - assert (L : c < a) by lra.
    generalize (dual_lt _ _ _ _ _ _ Hg Hf L); apply filter_imp; intros t H; apply Rleb_false; lra.
Qed.

Lemma steady_Reqb : forall f g a b c d, dual f a b -> dual g c d -> a <> c -> steady (fun t => Reqb (f t) (g t)) (Reqb a c).
Proof.
  intros f g a b c d Hf Hg N; unfold steady; rewrite (Reqb_false a c N).
  destruct (Rdichotomy a c N) as [L|L].
  - generalize (dual_lt _ _ _ _ _ _ Hf Hg L); apply filter_imp; intros t H; apply Reqb_false; lra.
  - generalize (dual_lt _ _ _ _ _ _ Hg Hf L); apply filter_imp; intros t H; apply Reqb_false; lra.
Qed.

(** * Choices *)

(** A choice that does not depend on time. *)
Lemma dual_if_fixed : forall (c : bool) f g a b v d,
  (c = true -> dual f a b) -> (c = false -> dual g v d) ->
  dual (fun t => if c then f t else g t) (if c then a else v) (if c then b else d).
Proof. intros [] f g a b v d H K; [apply H|apply K]; reflexivity. Qed.

Lemma dual_if_steady : forall (c : R -> bool) c0 f g a b v d,
  steady c c0 -> (c0 = true -> dual f a b) -> (c0 = false -> dual g v d) ->
  dual (fun t => if c t then f t else g t) (if c0 then a else v) (if c0 then b else d).
Proof.
  intros c c0 f g a b v d S H K.
  apply (dual_local (fun t => if c0 then f t else g t)).
  - unfold steady in S; revert S; apply filter_imp; intros t ->; reflexivity.
  - apply dual_if_fixed; assumption.
Qed.

Lemma dual_if_and : forall (p q : R -> bool) f g v d,
  dual (fun t => if p t then (if q t then f t else g t) else g t) v d ->
  dual (fun t => if (p t && q t)%bool then f t else g t) v d.
Proof. intros p q f g v d; apply dual_ext; intro t; destruct (p t), (q t); reflexivity. Qed.

Lemma dual_if_or : forall (p q : R -> bool) f g v d,
  dual (fun t => if p t then f t else if q t then f t else g t) v d ->
  dual (fun t => if (p t || q t)%bool then f t else g t) v d.
Proof. intros p q f g v d; apply dual_ext; intro t; destruct (p t), (q t); reflexivity. Qed.

Lemma dual_if_not : forall (p : R -> bool) f g v d,
  dual (fun t => if p t then g t else f t) v d -> dual (fun t => if negb (p t) then f t else g t) v d.
Proof. intros p f g v d; apply dual_ext; intro t; destruct (p t); reflexivity. Qed.

(** A choice by a comparison that moves. At a seam both branches must have one value and one derivative. *)
Lemma dual_if_seam : forall (c : R -> bool) f g a v,
  (a < v -> locally 0 (fun t => c t = true)) -> (v < a -> locally 0 (fun t => c t = false)) ->
  forall x dx y dy,
  (a <= v -> dual f x dx) -> (v <= a -> dual g y dy) -> (a = v -> x = y /\ dx = dy) ->
  forall z : bool, (a < v -> z = true) -> (v < a -> z = false) ->
  dual (fun t => if c t then f t else g t) (if z then x else y) (if z then dx else dy).
Proof.
  intros c f g a v T F x dx y dy Hf Hg E z ZT ZF.
  destruct (Rtotal_order a v) as [L|[L|L]].
  - rewrite (ZT L); apply (dual_local f); [|apply Hf; lra].
    generalize (T L); apply filter_imp; intros t ->; reflexivity.
  - specialize (Hf (Req_le _ _ L)); specialize (Hg (Req_le _ _ (eq_sym L))).
    destruct (E L) as [-> ->].
    replace (if z then y else y) with y by (destruct z; reflexivity).
    replace (if z then dy else dy) with dy by (destruct z; reflexivity).
    apply (dual_either f g); [assumption|assumption|].
    intro t; destruct (c t); [left|right]; reflexivity.
  - rewrite (ZF L); apply (dual_local g); [|apply Hg; lra].
    generalize (F L); apply filter_imp; intros t ->; reflexivity.
Qed.

Lemma dual_if_lt : forall p q f g a b v d x dx y dy,
  dual p a b -> dual q v d ->
  (a <= v -> dual f x dx) -> (v <= a -> dual g y dy) -> (a = v -> x = y /\ dx = dy) ->
  dual (fun t => if Rltb (p t) (q t) then f t else g t) (if Rltb a v then x else y) (if Rltb a v then dx else dy).
Proof.
  intros p q f g a b v d x dx y dy Hp Hq Hf Hg E.
  apply (dual_if_seam (fun t => Rltb (p t) (q t)) f g a v); try assumption.
  - intro L; generalize (dual_lt _ _ _ _ _ _ Hp Hq L); apply filter_imp; intros; apply Rltb_true; lra.
  - intro L; generalize (dual_lt _ _ _ _ _ _ Hq Hp L); apply filter_imp; intros; apply Rltb_false; lra.
  - intro; apply Rltb_true; lra.
  - intro; apply Rltb_false; lra.
Qed.

Lemma dual_if_le : forall p q f g a b v d x dx y dy,
  dual p a b -> dual q v d ->
  (a <= v -> dual f x dx) -> (v <= a -> dual g y dy) -> (a = v -> x = y /\ dx = dy) ->
  dual (fun t => if Rleb (p t) (q t) then f t else g t) (if Rleb a v then x else y) (if Rleb a v then dx else dy).
Proof.
  intros p q f g a b v d x dx y dy Hp Hq Hf Hg E.
  apply (dual_if_seam (fun t => Rleb (p t) (q t)) f g a v); try assumption.
  - intro L; generalize (dual_lt _ _ _ _ _ _ Hp Hq L); apply filter_imp; intros; apply Rleb_true; lra.
  - intro L; generalize (dual_lt _ _ _ _ _ _ Hq Hp L); apply filter_imp; intros; apply Rleb_false; lra.
  - intro; apply Rleb_true; lra.
  - intro; apply Rleb_false; lra.
Qed.

(** Where two curves are equal, nothing near the point is equal to nothing: the other branch must fit as well. *)
Lemma dual_if_eq : forall p q f g a b v d x dx y dy,
  dual p a b -> dual q v d ->
  (a = v -> dual f x dx) -> dual g y dy -> (a = v -> x = y /\ dx = dy) ->
  dual (fun t => if Reqb (p t) (q t) then f t else g t) y dy.
Proof.
  intros p q f g a b v d x dx y dy Hp Hq Hf Hg E; destruct (Req_dec a v) as [L|L].
  - specialize (Hf L); destruct (E L) as [-> ->].
    apply (dual_either f g); [assumption|assumption|].
    intro t; destruct (Reqb (p t) (q t)); [left|right]; reflexivity.
  - apply (dual_local g); [|exact Hg].
    assert (S := steady_Reqb _ _ _ _ _ _ Hp Hq L); unfold steady in S; revert S; apply filter_imp; intros t ->; rewrite Reqb_false by exact L; reflexivity.
Qed.

(** * Greater and smaller of two, absolute value, sign, whole part *)

Lemma dual_Rmax : forall f g a b c d, dual f a b -> dual g c d -> (a = c -> b = d) ->
  dual (fun t => Rmax (f t) (g t)) (Rmax a c) (if Rleb a c then d else b).
Proof.
  intros f g a b c d Hf Hg E.
  apply (dual_ext (fun t => if Rleb (f t) (g t) then g t else f t)).
  - intro t; unfold Rmax, Rleb; destruct (Rle_dec (f t) (g t)); reflexivity.
  - replace (Rmax a c) with (if Rleb a c then c else a) by (unfold Rmax, Rleb; destruct (Rle_dec a c); reflexivity).
    apply (dual_if_le f g g f a b c d c d a b); auto; intros e; split; [lra|symmetry; auto].
Qed.

Lemma dual_Rmin : forall f g a b c d, dual f a b -> dual g c d -> (a = c -> b = d) ->
  dual (fun t => Rmin (f t) (g t)) (Rmin a c) (if Rleb a c then b else d).
Proof.
  intros f g a b c d Hf Hg E.
  apply (dual_ext (fun t => if Rleb (f t) (g t) then f t else g t)).
  - intro t; unfold Rmin, Rleb; destruct (Rle_dec (f t) (g t)); reflexivity.
  - replace (Rmin a c) with (if Rleb a c then a else c) by (unfold Rmin, Rleb; destruct (Rle_dec a c); reflexivity).
    apply (dual_if_le f g f g a b c d a b c d); auto; intros e; split; auto; lra.
Qed.

Lemma dual_Rabs : forall f a b, dual f a b -> (a = 0 -> b = 0) -> dual (fun t => Rabs (f t)) (Rabs a) (if Rltb a 0 then - b else b).
Proof.
  intros f a b H N.
  apply (dual_ext (fun t => if Rltb (f t) 0 then - f t else f t)).
  - intro t; unfold Rabs, Rltb; destruct (Rlt_dec (f t) 0), (Rcase_abs (f t)); lra.
  - replace (Rabs a) with (if Rltb a 0 then - a else a)
      by (unfold Rabs, Rltb; destruct (Rlt_dec a 0), (Rcase_abs a); lra).
    apply (dual_if_lt f (fun _ => 0) _ _ a b 0 0 (- a) (- b) a b);
      [exact H|apply dual_const|intros _; apply dual_opp, H|intros _; exact H|].
    intros e; rewrite (N e); lra.
Qed.

Lemma dual_steady : forall f v, steady f v -> dual f v 0.
Proof.
  intros f v S; apply (dual_local (fun _ => v)); [|apply dual_const].
  unfold steady in S; revert S; apply filter_imp; intros t ->; reflexivity.
Qed.

Definition Rsign (a : R) : R := if Rltb 0 a then 1 else if Rltb a 0 then -1 else 0.

Lemma steady_Rsign : forall f a b, dual f a b -> a <> 0 -> steady (fun t => Rsign (f t)) (Rsign a).
Proof.
  intros f a b H N; unfold Rsign.
  assert (S1 : steady (fun t => Rltb 0 (f t)) (Rltb 0 a)).
  { apply (steady_Rltb (fun _ => 0) f 0 0 a b); [apply dual_const|exact H|]; auto. }
  assert (S2 : steady (fun t => Rltb (f t) 0) (Rltb a 0)).
  { apply (steady_Rltb f (fun _ => 0) a b 0 0); [exact H|apply dual_const|exact N]. }
  exact (steady_map2 _ _ _ (fun x y : bool => if x then 1 else if y then -1 else 0) _ _ _ _ S1 S2).
Qed.

Lemma dual_Rsign : forall f a b, dual f a b -> a <> 0 -> dual (fun t => Rsign (f t)) (Rsign a) 0.
Proof. intros f a b H N; apply dual_steady, (steady_Rsign f a b H N). Qed.

(** The greatest integer that is at most a number. *)
Definition floor (a : R) : Z := Int_part a.

Lemma floor_bounds : forall a, IZR (floor a) <= a < IZR (floor a) + 1.
Proof. intro a; unfold floor; destruct (base_Int_part a); lra. Qed.

Lemma floor_unique : forall a z, IZR z <= a < IZR z + 1 -> floor a = z.
Proof.
  intros a z [H K]; destruct (floor_bounds a) as [L M].
  assert (IZR (floor a) < IZR (z + 1)) by (rewrite plus_IZR; lra).
  assert (IZR z < IZR (floor a + 1)) by (rewrite plus_IZR; lra).
  apply lt_IZR in H0; apply lt_IZR in H1; lia.
Qed.

Lemma floor_IZR : forall z, floor (IZR z) = z.
Proof. intro z; apply floor_unique; lra. Qed.

Lemma steady_floor : forall f a b, dual f a b -> a <> IZR (floor a) -> steady (fun t => floor (f t)) (floor a).
Proof.
  intros f a b H N; destruct (floor_bounds a) as [L M]; unfold steady.
  assert (L' : IZR (floor a) < a) by lra.
  generalize (filter_and _ _ (dual_lt _ _ _ _ _ _ (dual_const (IZR (floor a))) H L')
                             (dual_lt _ _ _ _ _ _ H (dual_const (IZR (floor a) + 1)) M)).
  apply filter_imp; intros t [A B]; apply floor_unique; lra.
Qed.

(** The whole part towards 0: it has one value near 0 as well. *)
Definition trunc (a : R) : Z := if Rltb a 0 then (- floor (- a))%Z else floor a.

Lemma steady_trunc : forall f a b,
  dual f a b -> a = 0 \/ a <> IZR (floor a) -> steady (fun t => trunc (f t)) (trunc a).
Proof.
  intros f a b H [->|N].
  - assert (L : -1 < 0) by lra; assert (U : 0 < 1) by lra; unfold steady.
    generalize (filter_and _ _ (dual_lt _ _ _ _ _ _ (dual_const (-1)) H L) (dual_lt _ _ _ _ _ _ H (dual_const 1) U)).
    apply filter_imp; intros t [A B].
    replace (trunc 0) with 0%Z by (unfold trunc; rewrite Rltb_false by lra; symmetry; apply floor_unique; lra).
    unfold trunc; destruct (Rltb_spec (f t) 0); [replace (floor (- f t)) with 0%Z by (symmetry; apply floor_unique; lra); reflexivity|].
    apply floor_unique; lra.
  - assert (O : a <> 0).
    { intros ->; apply N; replace (floor 0) with 0%Z; [reflexivity|symmetry; apply floor_unique; lra]. }
    assert (M : - a <> IZR (floor (- a))).
    { intro E; apply N; rewrite (floor_unique a (- floor (- a))); rewrite opp_IZR; lra. }
    assert (D := dual_opp _ _ _ H).
    assert (P := steady_map _ _ Z.opp _ _ (steady_floor _ _ _ D M)); assert (Q := steady_floor _ _ _ H N).
    assert (C : steady (fun t => Rltb (f t) 0) (Rltb a 0)) by (apply (steady_Rltb f (fun _ => 0) a b 0 0); [exact H|apply dual_const|exact O]).
    unfold trunc, steady in *; generalize (filter_and _ _ C (filter_and _ _ P Q)); apply filter_imp.
    intros t [-> [-> ->]]; reflexivity.
Qed.

Lemma dual_IZR : forall f z, steady f z -> dual (fun t => IZR (f t)) (IZR z) 0.
Proof. intros f z S; apply dual_steady; apply (steady_map _ _ IZR _ _ S). Qed.

Lemma steady_if : forall (A : Type) (c : R -> bool) (f g : R -> A) c0 v w,
  steady c c0 -> (c0 = true -> steady f v) -> (c0 = false -> steady g w) ->
  steady (fun t => if c t then f t else g t) (if c0 then v else w).
Proof.
  intros A c f g c0 v w H F G.
  assert (K : steady (fun t => if c0 then f t else g t) (if c0 then v else w)) by (destruct c0; auto).
  unfold steady in *; generalize (filter_and _ _ H K); apply filter_imp; intros t [-> <-]; reflexivity.
Qed.

(** * Ranges: products, sums of integers, quantifiers as booleans *)

Fixpoint prodN (n : nat) (f : nat -> R) : R := match n with O => 1 | S m => prodN m f * f m end.
Definition prod_lt (n : Z) (f : Z -> R) : R := prodN (Z.to_nat n) (fun i => f (Z.of_nat i)).

Fixpoint zsumN (n : nat) (f : nat -> Z) : Z := match n with O => 0%Z | S m => (zsumN m f + f m)%Z end.
Definition zsum_lt (n : Z) (f : Z -> Z) : Z := zsumN (Z.to_nat n) (fun i => f (Z.of_nat i)).

Fixpoint allN (n : nat) (f : nat -> bool) : bool := match n with O => true | S m => (allN m f && f m)%bool end.
Definition all_lt (n : Z) (f : Z -> bool) : bool := allN (Z.to_nat n) (fun i => f (Z.of_nat i)).
Definition any_lt (n : Z) (f : Z -> bool) : bool := negb (all_lt n (fun i => negb (f i))).
