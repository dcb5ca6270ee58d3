(** Greatest and least entries of a range, their derivative where they are attained once, and what they bound. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise.
Open Scope R_scope.

Fixpoint maxN (n : nat) (f : nat -> R) : R :=
  match n with
  | O => f O
  | S m => Rmax (maxN m f) (f (S m))
  end.

(** The greatest of [f 0 .. f (n - 1)], for [n] at least 1. *)
Definition max_lt (n : Z) (f : Z -> R) : R := maxN (Z.to_nat (n - 1)) (fun i => f (Z.of_nat i)).
Definition min_lt (n : Z) (f : Z -> R) : R := - max_lt n (fun i => - f i).

Lemma maxN_le : forall n f k, (k <= n)%nat -> f k <= maxN n f.
Proof.
  intros n f k H; induction n as [|n IH]; simpl.
  - replace k with O by lia; lra.
  - destruct (Nat.eq_dec k (S n)) as [->|N]; [apply Rmax_r|].
    apply Rle_trans with (maxN n f); [apply IH; lia|apply Rmax_l].
Qed.

Lemma maxN_attained : forall n f, exists k, (k <= n)%nat /\ maxN n f = f k.
Proof.
  intros n f; induction n as [|n [k [Hk E]]]; simpl.
  - exists O; split; [lia|reflexivity].
  - unfold Rmax; destruct (Rle_dec (maxN n f) (f (S n))).
    + exists (S n); split; [lia|reflexivity].
    + exists k; split; [lia|exact E].
Qed.

Lemma maxN_ext : forall n f g, (forall i, (i <= n)%nat -> f i = g i) -> maxN n f = maxN n g.
Proof.
  intros n f g H; induction n as [|n IH]; simpl; [apply H; lia|].
  rewrite IH by (intros; apply H; lia); rewrite (H (S n)) by lia; reflexivity.
Qed.

Lemma max_le : forall n f k, (0 <= k < n)%Z -> f k <= max_lt n f.
Proof.
  intros n f k H; unfold max_lt.
  assert (L := maxN_le (Z.to_nat (n - 1)) (fun i => f (Z.of_nat i)) (Z.to_nat k) ltac:(lia)).
  cbv beta in L; rewrite Z2Nat.id in L by lia; exact L.
Qed.

Lemma max_attained : forall n f, (0 < n)%Z -> exists k, (0 <= k < n)%Z /\ max_lt n f = f k.
Proof.
  intros n f H; unfold max_lt; destruct (maxN_attained (Z.to_nat (n - 1)) (fun i => f (Z.of_nat i))) as [k [Hk E]].
  exists (Z.of_nat k); split; [lia|exact E].
Qed.

Lemma max_ext : forall n f g, (0 < n)%Z -> (forall i, (0 <= i < n)%Z -> f i = g i) -> max_lt n f = max_lt n g.
Proof. intros n f g Hn H; apply maxN_ext; intros i Hi; apply H; lia. Qed.

Lemma maxN_unique : forall n f k, (k <= n)%nat -> (forall i, (i <= n)%nat -> f i <= f k) -> maxN n f = f k.
Proof.
  intros n f k Hk H; apply Rle_antisym.
  - destruct (maxN_attained n f) as [j [Hj ->]]; apply H; exact Hj.
  - apply maxN_le; exact Hk.
Qed.

(** Where the greatest entry is attained once, the maximum moves with it. *)
Lemma dual_maxN : forall n f v d k,
  (k <= n)%nat -> (forall i, (i <= n)%nat -> dual (fun t => f t i) (v i) (d i)) ->
  (forall i, (i <= n)%nat -> i <> k -> v i < v k) ->
  dual (fun t => maxN n (f t)) (maxN n v) (d k).
Proof.
  intros n f v d k Hk H U.
  replace (maxN n v) with (v k).
  - apply (dual_local (fun t => f t k)); [|apply H; exact Hk].
    assert (L : forall m, (m <= n)%nat -> locally 0 (fun t => forall i, (i <= m)%nat -> i <> k -> f t i < f t k)).
    { induction m as [|m IH]; intro Hm.
      - destruct (Nat.eq_dec O k) as [<-|N].
        + apply filter_forall; intros t i Hi Ni; lia.
        + generalize (dual_lt _ _ _ _ _ _ (H O Hm) (H k Hk) (U O Hm N)); apply filter_imp.
          intros t L i Hi _; replace i with O by lia; exact L.
      - assert (IH' := IH ltac:(lia)).
        destruct (Nat.eq_dec (S m) k) as [E|N].
        + revert IH'; apply filter_imp; intros t L i Hi Ni; apply L; lia.
        + generalize (filter_and _ _ IH' (dual_lt _ _ _ _ _ _ (H (S m) Hm) (H k Hk) (U (S m) Hm N))); apply filter_imp.
          intros t [L K] i Hi Ni; destruct (Nat.eq_dec i (S m)) as [->|]; [exact K|apply L; lia]. }
    generalize (L n (le_n n)); apply filter_imp; intros t K; symmetry; apply maxN_unique; [exact Hk|].
    intros i Hi; destruct (Nat.eq_dec i k) as [->|N]; [apply Rle_refl|apply Rlt_le, K; assumption].
  - symmetry; apply maxN_unique; [exact Hk|].
    intros i Hi; destruct (Nat.eq_dec i k) as [->|N]; [apply Rle_refl|apply Rlt_le, U; assumption].
Qed.

Lemma dual_max : forall n f v d k,
  (0 <= k < n)%Z -> (forall i, (0 <= i < n)%Z -> dual (fun t => f t i) (v i) (d i)) ->
  (forall i, (0 <= i < n)%Z -> i <> k -> v i < v k) ->
  dual (fun t => max_lt n (f t)) (max_lt n v) (d k).
Proof.
  intros n f v d k Hk H U; unfold max_lt.
  assert (L : forall i, (i <= Z.to_nat (n - 1))%nat -> dual (fun t => f t (Z.of_nat i)) (v (Z.of_nat i)) (d (Z.of_nat i)))
    by (intros i Hi; apply H; lia).
  assert (Hk' : (Z.to_nat k <= Z.to_nat (n - 1))%nat) by lia.
  assert (D := dual_maxN _ (fun t i => f t (Z.of_nat i)) (fun i => v (Z.of_nat i)) (fun i => d (Z.of_nat i)) _ Hk' L).
  cbv beta in D; rewrite Z2Nat.id in D by lia; apply D.
  intros i Hi N; apply U; lia.
Qed.

(** The maximum is attained once: what certificates say of it. *)
Definition unique_max (n : Z) (f : Z -> R) : Prop :=
  exists k, (0 <= k < n)%Z /\ forall i, (0 <= i < n)%Z -> i <> k -> f i < f k.

(** The first place where the greatest entry is. *)
Fixpoint argmaxN (n : nat) (f : nat -> R) : nat :=
  match n with
  | O => O
  | S m => if Rltb (f (argmaxN m f)) (f (S m)) then S m else argmaxN m f
  end.

Definition argmax_lt (n : Z) (f : Z -> R) : Z := Z.of_nat (argmaxN (Z.to_nat (n - 1)) (fun i => f (Z.of_nat i))).

Lemma argmaxN_range : forall n f, (argmaxN n f <= n)%nat.
Proof. intros n f; induction n as [|n IH]; simpl; [lia|]; destruct (Rltb _ _); lia. Qed.

Lemma argmaxN_max : forall n f, f (argmaxN n f) = maxN n f.
Proof.
  intros n f; induction n as [|n IH]; simpl; [reflexivity|]; rewrite <- IH.
  unfold Rmax; destruct (Rltb_spec (f (argmaxN n f)) (f (S n))); destruct (Rle_dec (f (argmaxN n f)) (f (S n))); lra || reflexivity.
Qed.

Lemma argmax_range : forall n f, (0 < n)%Z -> (0 <= argmax_lt n f < n)%Z.
Proof. intros n f H; unfold argmax_lt; assert (K := argmaxN_range (Z.to_nat (n - 1)) (fun i => f (Z.of_nat i))); lia. Qed.

Lemma argmax_max : forall n f, f (argmax_lt n f) = max_lt n f.
Proof. intros n f; unfold argmax_lt, max_lt; apply (argmaxN_max _ (fun i => f (Z.of_nat i))). Qed.

Lemma argmax_unique : forall n f k,
  (0 <= k < n)%Z -> (forall i, (0 <= i < n)%Z -> i <> k -> f i < f k) -> argmax_lt n f = k.
Proof.
  intros n f k Hk H; destruct (Z.eq_dec (argmax_lt n f) k) as [E|N]; [exact E|].
  assert (R := argmax_range n f ltac:(lia)).
  assert (L := H _ R N); rewrite argmax_max in L; assert (M := max_le n f k Hk); lra.
Qed.

(** One of the places where [P] holds is where [f] is greater than at any other of them. *)
Definition unique_at {A : Type} (P : A -> Prop) (f : A -> R) : Prop :=
  exists k, P k /\ forall i, P i -> i <> k -> f i < f k.

(** * Of the entries for which a condition holds. Where it holds for none, there is no meaning in what they are. *)

Fixpoint argmax_whereN (n : nat) (p : nat -> bool) (f : nat -> R) : option nat :=
  match n with
  | O => None
  | S m => match argmax_whereN m p f with
           | None => if p m then Some m else None
           | Some k => if p m then if Rltb (f k) (f m) then Some m else Some k else Some k
           end
  end.

Definition argmax_where (n : Z) (p : Z -> bool) (f : Z -> R) : Z :=
  match argmax_whereN (Z.to_nat n) (fun i => p (Z.of_nat i)) (fun i => f (Z.of_nat i)) with
  | Some k => Z.of_nat k
  | None => 0%Z
  end.

Definition max_where (n : Z) (p : Z -> bool) (f : Z -> R) : R := f (argmax_where n p f).
Definition min_where (n : Z) (p : Z -> bool) (f : Z -> R) : R := - max_where n p (fun i => - f i).

Lemma argmax_whereN_is : forall n p f, match argmax_whereN n p f with
  | Some k => (k < n)%nat /\ p k = true /\ forall i, (i < n)%nat -> p i = true -> f i <= f k
  | None => forall i, (i < n)%nat -> p i = false
  end.
Proof.
  intros n p f; induction n as [|n IH]; cbn [argmax_whereN]; [intros; lia|].
  destruct (argmax_whereN n p f) as [k|].
  - destruct IH as [Hk [Pk L]].
    destruct (p n) eqn:E; [destruct (Rltb_spec (f k) (f n))|]; (split; [lia|]); (split; [assumption|]);
      intros i Hi Pi; (destruct (Nat.eq_dec i n) as [->|N]; [try lra; congruence|]); specialize (L i ltac:(lia) Pi); lra.
  - destruct (p n) eqn:E.
    + split; [lia|split; [exact E|]]; intros i Hi Pi; destruct (Nat.eq_dec i n) as [->|N]; [lra|].
      rewrite IH in Pi by lia; discriminate.
    + intros i Hi; destruct (Nat.eq_dec i n) as [->|N]; [exact E|apply IH; lia].
Qed.

Lemma argmax_where_is : forall n p f, (exists k, (0 <= k < n)%Z /\ p k = true) ->
  (0 <= argmax_where n p f < n)%Z /\ p (argmax_where n p f) = true /\
  forall i, (0 <= i < n)%Z -> p i = true -> f i <= f (argmax_where n p f).
Proof.
  intros n p f [k [Hk Pk]]; unfold argmax_where.
  assert (A := argmax_whereN_is (Z.to_nat n) (fun i => p (Z.of_nat i)) (fun i => f (Z.of_nat i))).
  destruct (argmax_whereN _ _ _) as [j|].
  - destruct A as [Hj [Pj L]]; split; [lia|split; [exact Pj|]].
    intros i Hi Pi; specialize (L (Z.to_nat i) ltac:(lia)); cbv beta in L; rewrite Z2Nat.id in L by lia; apply L, Pi.
  - specialize (A (Z.to_nat k) ltac:(lia)); cbv beta in A; rewrite Z2Nat.id in A by lia; congruence.
Qed.

Lemma argmax_where_unique : forall n p f k, (0 <= k < n)%Z -> p k = true ->
  (forall i, (0 <= i < n)%Z -> p i = true -> i <> k -> f i < f k) -> argmax_where n p f = k.
Proof.
  intros n p f k Hk Pk U; destruct (argmax_where_is n p f (ex_intro _ k (conj Hk Pk))) as [Hj [Pj L]].
  destruct (Z.eq_dec (argmax_where n p f) k) as [E|N]; [exact E|].
  specialize (U _ Hj Pj N); specialize (L k Hk Pk); lra.
Qed.

Lemma near_each : forall n (P : nat -> R -> Prop), (forall i, (i < n)%nat -> locally 0 (P i)) ->
  locally 0 (fun t => forall i, (i < n)%nat -> P i t).
Proof.
  intros n P; induction n as [|n IH]; intro H; [apply filter_forall; intros; lia|].
  assert (A := IH ltac:(intros; apply H; lia)); assert (B := H n ltac:(lia)); generalize (filter_and _ _ A B).
  apply filter_imp; intros t [K L] i Hi; destruct (Nat.eq_dec i n) as [->|]; [exact L|apply K; lia].
Qed.

(** Where the greatest entry is attained once, the maximum moves as the entry at its place. *)
Lemma max_where_moves : forall n p (f : R -> Z -> R) v d k, (0 <= k < n)%Z -> p k = true ->
  (forall i, (0 <= i < n)%Z -> p i = true -> dual (fun t => f t i) (v i) (d i)) ->
  (forall i, (0 <= i < n)%Z -> p i = true -> i <> k -> v i < v k) ->
  dual (fun t => max_where n p (f t)) (max_where n p v) (d (argmax_where n p v)).
Proof.
  intros n p f v d k Hk Pk D U.
  assert (V := argmax_where_unique n p v k Hk Pk U); unfold max_where; rewrite V.
  apply (dual_local (fun t => f t k)); [|apply D; assumption].
  assert (L : locally 0 (fun t => forall i, (i < Z.to_nat n)%nat -> p (Z.of_nat i) = true -> Z.of_nat i <> k -> f t (Z.of_nat i) < f t k)).
  { apply near_each; intros i Hi; destruct (p (Z.of_nat i)) eqn:E; [|apply filter_forall; intros; discriminate].
    destruct (Z.eq_dec (Z.of_nat i) k) as [->|N]; [apply filter_forall; intros; congruence|].
    generalize (dual_lt _ _ _ _ _ _ (D (Z.of_nat i) ltac:(lia) E) (D k Hk Pk) (U (Z.of_nat i) ltac:(lia) E N)).
    apply filter_imp; intros t K _ _; exact K. }
  revert L; apply filter_imp; intros t L.
  rewrite (argmax_where_unique n p (f t) k Hk Pk); [reflexivity|].
  intros i Hi Pi N; specialize (L (Z.to_nat i) ltac:(lia)); rewrite Z2Nat.id in L by lia; apply L; assumption.
Qed.

(** The same of maxima of maxima. *)
Lemma max2_is : forall n m (f : Z -> Z -> R) k l, (0 <= k < n)%Z -> (0 <= l < m)%Z ->
  (forall i j, (0 <= i < n)%Z -> (0 <= j < m)%Z -> (i, j) <> (k, l) -> f i j < f k l) ->
  max_lt n (fun i => max_lt m (f i)) = f k l.
Proof.
  intros n m f k l Hk Hl U; apply Rle_antisym.
  - destruct (max_attained n (fun i => max_lt m (f i)) ltac:(lia)) as [i [Hi ->]].
    destruct (max_attained m (f i) ltac:(lia)) as [j [Hj ->]].
    destruct (Z.eq_dec i k) as [->|N]; [destruct (Z.eq_dec j l) as [->|N]; [lra|]|];
      apply Rlt_le, U; try assumption; intro E; inversion E; contradiction.
  - apply Rle_trans with (max_lt m (f k)); [apply max_le; exact Hl|apply (max_le n (fun i => max_lt m (f i))); exact Hk].
Qed.

Lemma dual_max2 : forall n m (f : R -> Z -> Z -> R) v d k l, (0 <= k < n)%Z -> (0 <= l < m)%Z ->
  (forall i j, (0 <= i < n)%Z -> (0 <= j < m)%Z -> dual (fun t => f t i j) (v i j) (d i j)) ->
  (forall i j, (0 <= i < n)%Z -> (0 <= j < m)%Z -> (i, j) <> (k, l) -> v i j < v k l) ->
  dual (fun t => max_lt n (fun i => max_lt m (f t i))) (v k l) (d k l).
Proof.
  intros n m f v d k l Hk Hl D U; apply (dual_local (fun t => f t k l)); [|apply D; assumption].
  assert (L : locally 0 (fun t => forall i, (i < Z.to_nat n)%nat -> forall j, (j < Z.to_nat m)%nat ->
                                  (Z.of_nat i, Z.of_nat j) <> (k, l) -> f t (Z.of_nat i) (Z.of_nat j) < f t k l)).
  { apply near_each; intros i Hi; apply near_each; intros j Hj.
    destruct (Z.eq_dec (Z.of_nat i) k) as [E|N]; [destruct (Z.eq_dec (Z.of_nat j) l) as [E'|N]|].
    - apply filter_forall; intros t K; subst; congruence.
    - generalize (dual_lt _ _ _ _ _ _ (D (Z.of_nat i) (Z.of_nat j) ltac:(lia) ltac:(lia)) (D k l Hk Hl)
        (U (Z.of_nat i) (Z.of_nat j) ltac:(lia) ltac:(lia) ltac:(congruence))).
      apply filter_imp; intros t K _; exact K.
    - generalize (dual_lt _ _ _ _ _ _ (D (Z.of_nat i) (Z.of_nat j) ltac:(lia) ltac:(lia)) (D k l Hk Hl)
        (U (Z.of_nat i) (Z.of_nat j) ltac:(lia) ltac:(lia) ltac:(congruence))).
      apply filter_imp; intros t K _; exact K. }
  revert L; apply filter_imp; intros t L; symmetry; apply max2_is; [exact Hk|exact Hl|].
  intros i j Hi Hj N; specialize (L (Z.to_nat i) ltac:(lia) (Z.to_nat j) ltac:(lia)).
  rewrite !Z2Nat.id in L by lia; apply L, N.
Qed.

(** * The first place where a condition holds; entries that all differ *)

Definition least_lt (n : Z) (p : Z -> bool) : Z := argmax_where n p (fun _ => 0).

Definition distinct_lt (n : Z) (f : Z -> R) : Prop :=
  forall i j, (0 <= i < n)%Z -> (0 <= j < n)%Z -> i <> j -> f i <> f j.

Lemma least_range : forall n p, (0 < n)%Z -> (0 <= least_lt n p < n)%Z.
Proof.
  intros n p H; unfold least_lt, argmax_where.
  assert (A := argmax_whereN_is (Z.to_nat n) (fun i => p (Z.of_nat i)) (fun _ => 0)).
  destruct (argmax_whereN _ _ _) as [k|]; [destruct A as [A _]; lia|lia].
Qed.

Lemma argmax_whereN_ext : forall n p q f, (forall i, (i < n)%nat -> p i = q i) -> argmax_whereN n p f = argmax_whereN n q f.
Proof.
  intros n p q f H; induction n as [|n IH]; [reflexivity|]; cbn [argmax_whereN].
  rewrite IH by (intros; apply H; lia); rewrite (H n) by lia; reflexivity.
Qed.

Lemma least_ext : forall n p q, (forall i, (0 <= i < n)%Z -> p i = q i) -> least_lt n p = least_lt n q.
Proof.
  intros n p q H; unfold least_lt, argmax_where.
  rewrite (argmax_whereN_ext _ _ (fun i => q (Z.of_nat i))) by (intros; apply H; lia); reflexivity.
Qed.

Lemma least_steady : forall n (p : R -> Z -> bool) q, (forall i, (0 <= i < n)%Z -> locally 0 (fun t => p t i = q i)) ->
  locally 0 (fun t => least_lt n (p t) = least_lt n q).
Proof.
  intros n p q H.
  assert (L : locally 0 (fun t => forall i, (i < Z.to_nat n)%nat -> p t (Z.of_nat i) = q (Z.of_nat i)))
    by (apply near_each; intros i Hi; apply H; lia).
  revert L; apply filter_imp; intros t L; apply least_ext; intros i Hi.
  specialize (L (Z.to_nat i) ltac:(lia)); rewrite Z2Nat.id in L by lia; exact L.
Qed.

Lemma zsumN_ext : forall n f g, (forall i, (i < n)%nat -> f i = g i) -> zsumN n f = zsumN n g.
Proof.
  intros n f g H; induction n as [|n IH]; [reflexivity|]; cbn [zsumN].
  rewrite IH by (intros; apply H; lia); rewrite (H n) by lia; reflexivity.
Qed.

(** How many of a range a condition holds for stays as it is where the condition does. *)
Lemma count_steady : forall n (b : R -> Z -> bool) c z, (forall i, (0 <= i < n)%Z -> locally 0 (fun t => b t i = c i)) ->
  locally 0 (fun t => (zsum_lt n (fun i => if b t i then 1 else 0) =? z)%Z = (zsum_lt n (fun i => if c i then 1 else 0) =? z)%Z).
Proof.
  intros n b c z H.
  assert (L : locally 0 (fun t => forall i, (i < Z.to_nat n)%nat -> b t (Z.of_nat i) = c (Z.of_nat i)))
    by (apply near_each; intros i Hi; apply H; lia).
  revert L; apply filter_imp; intros t L; unfold zsum_lt; apply (f_equal (fun y => (y =? z)%Z)).
  apply zsumN_ext; intros i Hi; rewrite L by exact Hi; reflexivity.
Qed.

(** Which of two curves is first, by value and then by place, stays as it is where they differ. *)
Lemma first_steady : forall f g a b c d (k l : Z), dual f a b -> dual g c d -> (k <> l -> a <> c) ->
  (k = l -> forall t, f t = g t) ->
  locally 0 (fun t => (Rltb (f t) (g t) || (Reqb (f t) (g t) && (k <? l)%Z))%bool
                      = (Rltb a c || (Reqb a c && (k <? l)%Z))%bool).
Proof.
  intros f g a b c d k l F G N E; destruct (Z.eq_dec k l) as [K|K].
  - apply filter_forall; intro t; subst l; rewrite Z.ltb_irrefl, !andb_false_r, !orb_false_r.
    assert (A : a = c) by (rewrite <- (proj1 F), <- (proj1 G); apply E; reflexivity).
    rewrite (E eq_refl t), A, !Rltb_false by lra; reflexivity.
  - destruct (Rtotal_order a c) as [L|[L|L]]; [|exfalso; exact (N K L)|].
    + generalize (dual_lt _ _ _ _ _ _ F G L); apply filter_imp; intros t T; rewrite !Rltb_true by assumption; reflexivity.
    + generalize (dual_lt _ _ _ _ _ _ G F L); apply filter_imp; intros t T.
      rewrite !Rltb_false, !Reqb_false by lra; reflexivity.
Qed.
