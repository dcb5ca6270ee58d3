(** Sums and maxima up to an index, or from one on, as cumulative operations take them. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions.
Open Scope R_scope.

(** * Sums up to an index and from one on *)

Lemma sum_upto : forall n i (F : Z -> R), (0 <= i < n)%Z -> sum_lt n (fun k => if (k <=? i)%Z then F k else 0) = sum_lt (i + 1) F.
Proof.
  intros n i F Hi; replace n with ((i + 1) + (n - (i + 1)))%Z by lia; rewrite sum_split by lia.
  rewrite (sum_all_zero (n - (i + 1))), Rplus_0_r.
  - apply sum_ext; intros k Hk; destruct (Z.leb_spec k i); [reflexivity | lia].
  - intros k Hk; destruct (Z.leb_spec (i + 1 + k) i); [lia | reflexivity].
Qed.

Lemma sum_from : forall n i (F : Z -> R), (0 <= i < n)%Z ->
  sum_lt n (fun k => if (i <=? k)%Z then F k else 0) = sum_lt (n - i) (fun k => F (i + k)%Z).
Proof.
  intros n i F Hi; replace n with (i + (n - i))%Z at 1 by lia; rewrite sum_split by lia.
  rewrite (sum_all_zero i), Rplus_0_l.
  - apply sum_ext; intros k Hk; destruct (Z.leb_spec i (i + k)); [reflexivity | lia].
  - intros k Hk; destruct (Z.leb_spec i k); [lia | reflexivity].
Qed.

Lemma exp_less_ln : forall x s, 0 < s -> exp (x - ln s) = exp x / s.
Proof. intros x s H; unfold Rminus, Rdiv; rewrite exp_plus, exp_Ropp, exp_ln by exact H; reflexivity. Qed.

Lemma weighted_upto : forall n i (x d : Z -> R) s, (0 <= i < n)%Z -> 0 < s ->
  sum_lt n (fun k => (if (k <=? i)%Z then exp (x k - ln s) else 0) * d k) = sum_lt (i + 1) (fun k => d k * exp (x k)) / s.
Proof.
  intros n i x d s Hi Hs; rewrite (sum_ext n _ (fun k => if (k <=? i)%Z then d k * exp (x k) / s else 0)).
  - rewrite (sum_upto n i (fun k => d k * exp (x k) / s)) by exact Hi; apply sum_div.
  - intros k _; destruct (k <=? i)%Z; [rewrite exp_less_ln by exact Hs; unfold Rdiv; ring | ring].
Qed.

Lemma weighted_from : forall n i (x d : Z -> R) s, (0 <= i < n)%Z -> 0 < s ->
  sum_lt n (fun k => (if (i <=? k)%Z then exp (x k - ln s) else 0) * d k)
  = sum_lt (n - i) (fun k => d (i + k)%Z * exp (x (i + k)%Z)) / s.
Proof.
  intros n i x d s Hi Hs; rewrite (sum_ext n _ (fun k => if (i <=? k)%Z then d k * exp (x k) / s else 0)).
  - rewrite (sum_from n i (fun k => d k * exp (x k) / s)) by exact Hi.
    apply (sum_div _ s (fun k => d (i + k)%Z * exp (x (i + k)%Z))).
  - intros k _; destruct (i <=? k)%Z; [rewrite exp_less_ln by exact Hs; unfold Rdiv; ring | ring].
Qed.

(** The slopes of logarithms of such sums of exponentials. *)
Ltac weighted_prefix :=
  match goal with
  | |- _ = sum_lt ?n (fun k => (if (k <=? ?i)%Z then exp (@?x k - ln ?s) else 0) * @?d k) =>
      rewrite (weighted_upto n i x d s); [reflexivity | lia | apply sum_pos; [lia | intros; apply exp_pos]]
  | |- _ = sum_lt ?n (fun k => (if (?i <=? k)%Z then exp (@?x k - ln ?s) else 0) * @?d k) =>
      rewrite (weighted_from n i x d s); [reflexivity | lia | apply sum_pos; [lia | intros; apply exp_pos]]
  end.

(** * Maxima up to an index *)

Lemma one_marked : forall n (b : Z -> bool) (d : Z -> R) k, (0 <= k < n)%Z -> b k = true ->
  (forall i, (0 <= i < n)%Z -> i <> k -> b i = false) ->
  sum_lt n (fun i => (if b i then 1 else 0) / sum_lt n (fun j => if b j then 1 else 0) * d i) = d k.
Proof.
  intros n b d k Hk B N.
  rewrite (sum_single n k (fun j => if b j then 1 else 0)); [|exact Hk | intros i Hi D; rewrite (N i Hi D); reflexivity].
  rewrite (sum_single n k); [|exact Hk | intros i Hi D; rewrite (N i Hi D); unfold Rdiv; ring].
  rewrite B; field.
Qed.

Lemma marked_not_0 : forall n (b : Z -> bool) k, (0 <= k < n)%Z -> b k = true -> sum_lt n (fun j => if b j then 1 else 0) <> 0.
Proof.
  intros n b k Hk B; apply Rgt_not_eq; apply (sum_pos_one n k); [exact Hk | intros i _; destruct (b i); lra | rewrite B; lra].
Qed.

Lemma prefix_max_is : forall i (x : Z -> R) k, (0 <= k < i + 1)%Z -> (forall l, (0 <= l < i + 1)%Z -> x l <= x k) ->
  max_lt (i + 1) x = x k.
Proof.
  intros i x k Hk H; destruct (max_attained (i + 1) x ltac:(lia)) as [m [Hm E]].
  assert (L := max_le (i + 1) x k Hk); specialize (H m Hm); lra.
Qed.

Lemma prefix_max_moves : forall n i (x d : Z -> R), (0 <= i < n)%Z ->
  unique_at (fun l => (0 <= l < n)%Z /\ (i + (-1)%Z * l >= 0)%Z) x ->
  is_derive (fun t => max_lt (i + 1) (fun k => x k + t * d k)) 0
    (sum_lt n (fun k => (if (if (k <=? i)%Z then Rleb (max_lt (i + 1) x) (x k) else false) then 1 else 0)
       / sum_lt n (fun k => if (if (k <=? i)%Z then Rleb (max_lt (i + 1) x) (x k) else false) then 1 else 0) * d k)).
Proof.
  intros n i x d Hi [k [[Hk Ki] U]].
  assert (M : max_lt (i + 1) x = x k).
  { apply prefix_max_is; [lia|]; intros l Hl; destruct (Z.eq_dec l k) as [->|N]; [lra | apply Rlt_le, U; [lia | exact N]]. }
  eapply dual_is_derive.
  - apply (dual_max (i + 1) (fun t k => x k + t * d k) x d k); [lia | intros; apply dual_line | intros; apply U; [lia | assumption]].
  - symmetry; apply (one_marked n (fun k => if (k <=? i)%Z then Rleb (max_lt (i + 1) x) (x k) else false) d k); [exact Hk | |].
    + destruct (Z.leb_spec k i); [rewrite M; apply Rleb_true; lra | lia].
    + intros l Hl N; destruct (Z.leb_spec l i); [rewrite M; apply Rleb_false, U; [lia | exact N] | reflexivity].
Qed.

Lemma prefix_min_moves : forall n i (x d : Z -> R), (0 <= i < n)%Z ->
  unique_at (fun l => (0 <= l < n)%Z /\ (i + (-1)%Z * l >= 0)%Z) (fun l => (- 1) * x l) ->
  is_derive (fun t => min_lt (i + 1) (fun k => x k + t * d k)) 0
    (sum_lt n (fun k => (if (if (k <=? i)%Z then Rleb (x k) (min_lt (i + 1) x) else false) then 1 else 0)
       / sum_lt n (fun k => if (if (k <=? i)%Z then Rleb (x k) (min_lt (i + 1) x) else false) then 1 else 0) * d k)).
Proof.
  intros n i x d Hi [k [[Hk Ki] U]]; cbv beta in U.
  assert (M : min_lt (i + 1) x = x k).
  { unfold min_lt; rewrite (prefix_max_is i (fun l => - x l) k); [ring | lia|]; intros l Hl.
    destruct (Z.eq_dec l k) as [->|N]; [lra | assert (L := U l ltac:(lia) N); lra]. }
  eapply dual_is_derive.
  - unfold min_lt; apply dual_opp.
    apply (dual_max (i + 1) (fun t k => - (x k + t * d k)) (fun k => - x k) (fun k => - d k) k);
      [lia | intros; apply dual_opp, dual_line | intros l Hl N; assert (L := U l ltac:(lia) N); lra].
  - cbv beta; rewrite Ropp_involutive; symmetry.
    apply (one_marked n (fun k => if (k <=? i)%Z then Rleb (x k) (min_lt (i + 1) x) else false) d k); [exact Hk | |].
    + destruct (Z.leb_spec k i); [rewrite M; apply Rleb_true; lra | lia].
    + intros l Hl N; destruct (Z.leb_spec l i); [rewrite M; apply Rleb_false; assert (L := U l ltac:(lia) N); lra | reflexivity].
Qed.

Lemma prefix_max_marked : forall n i (x : Z -> R), (0 <= i < n)%Z ->
  sum_lt n (fun k => if (if (k <=? i)%Z then Rleb (max_lt (i + 1) x) (x k) else false) then 1 else 0) <> 0.
Proof.
  intros n i x Hi; destruct (max_attained (i + 1) x ltac:(lia)) as [k [Hk E]].
  apply (marked_not_0 n (fun k => if (k <=? i)%Z then Rleb (max_lt (i + 1) x) (x k) else false) k); [lia|].
  destruct (Z.leb_spec k i); [rewrite E; apply Rleb_true; lra | lia].
Qed.

Lemma prefix_min_marked : forall n i (x : Z -> R), (0 <= i < n)%Z ->
  sum_lt n (fun k => if (if (k <=? i)%Z then Rleb (x k) (min_lt (i + 1) x) else false) then 1 else 0) <> 0.
Proof.
  intros n i x Hi; destruct (max_attained (i + 1) (fun k => - x k) ltac:(lia)) as [k [Hk E]].
  apply (marked_not_0 n (fun k => if (k <=? i)%Z then Rleb (x k) (min_lt (i + 1) x) else false) k); [lia|].
  destruct (Z.leb_spec k i); [unfold min_lt; rewrite E; apply Rleb_true; lra | lia].
Qed.

Ltac prefix_moves :=
  lazymatch goal with
  | |- is_derive (fun t => max_lt (?i + 1) (fun k => @?x k + t * @?d k)) 0 (sum_lt ?n _) =>
      apply (prefix_max_moves n i x d)
  | |- is_derive (fun t => min_lt (?i + 1) (fun k => @?x k + t * @?d k)) 0 (sum_lt ?n _) =>
      apply (prefix_min_moves n i x d)
  end;
  [lia |]; match goal with H : _ |- _ => apply H; assumption end.
