(** Maxima over windows of arrays, as pooling takes them: a place in a window is one number, its rows after each other;
    and maxima over two axes, where the greatest entry is the only one. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions Prefixes Tactics Derivatives Algebra Laws Axes Labels
  Defined.
Open Scope R_scope.

Lemma lt_as : forall a b c d : R, c < d -> a = c -> b = d -> a < b.
Proof. intros; subst; assumption. Qed.

(** A place in a window of one axis, and of two: its row and column. *)
Lemma place_1 : forall w i, (0 <= i < 1 * w)%Z -> (i / w = 0)%Z /\ ((i / 1) mod w = i)%Z.
Proof. intros w i H; split; [apply Z.div_small; lia|rewrite Z.div_1_r; apply Z.mod_small; lia]. Qed.

Lemma place_2 : forall h w q r, (0 <= q < h)%Z -> (0 <= r < w)%Z ->
  (0 <= q * w + r < 1 * h * w)%Z /\ ((q * w + r) / (h * w) = 0)%Z /\
  (((q * w + r) / w) mod h = q)%Z /\ (((q * w + r) / 1) mod w = r)%Z.
Proof.
  intros h w q r Hq Hr; assert (I : (0 <= q * w + r < h * w)%Z) by nia.
  repeat split; try lia.
  - apply Z.div_small; lia.
  - rewrite Z.div_add_l, (Z.div_small r w), Z.add_0_r by lia; apply Z.mod_small; lia.
  - rewrite Z.div_1_r, Z.add_comm, Z.mod_add by lia; apply Z.mod_small; lia.
Qed.

Lemma row_and_column : forall h w i, (0 <= i < 1 * h * w)%Z -> (0 < h)%Z -> (0 < w)%Z ->
  exists q r, (0 <= q < h)%Z /\ (0 <= r < w)%Z /\ i = (q * w + r)%Z.
Proof.
  intros h w i H Hh Hw; exists (i / w)%Z, (i mod w)%Z; repeat split.
  - apply Z.div_pos; lia.
  - apply Z.div_lt_upper_bound; lia.
  - apply Z.mod_pos_bound; lia.
  - apply Z.mod_pos_bound; lia.
  - rewrite Z.mul_comm; apply Z.div_mod; lia.
Qed.

(** What is known of the conditions of a window, as propositions. *)
Ltac conditions_of H :=
  lazymatch type of H with
  | (_ && _)%bool = true =>
      let H1 := fresh "H" in let H2 := fresh "H" in
      apply andb_prop in H; destruct H as [H1 H2]; conditions_of H1; conditions_of H2
  | (_ =? _)%Z = true => apply Z.eqb_eq in H
  | (_ <=? _)%Z = true => apply Z.leb_le in H
  | (_ <? _)%Z = true => apply Z.ltb_lt in H
  | true = true => clear H
  | _ => idtac
  end.

Ltac conditions_hold :=
  lazymatch goal with
  | |- (_ && _)%bool = true => apply andb_true_intro; split; conditions_hold
  | |- (_ =? _)%Z = true => apply Z.eqb_eq; lia
  | |- (_ <=? _)%Z = true => apply Z.leb_le; lia
  | |- (_ <? _)%Z = true => apply Z.ltb_lt; lia
  | |- _ /\ _ => split; conditions_hold
  | |- _ => first [reflexivity | lia]
  end.

Ltac tidy := rewrite ?Z.mul_1_r, ?Z.mul_1_l, ?Z.sub_0_r, ?Z.add_0_r, ?Z.div_1_r, ?Z.mod_1_r.
Ltac tidy_in H := rewrite ?Z.mul_1_r, ?Z.mul_1_l, ?Z.sub_0_r, ?Z.add_0_r, ?Z.div_1_r, ?Z.mod_1_r in H.

(** In the goal and in what is known of it, the place [i] by its row and column. *)
Ltac by_place i :=
  match goal with
  | H : (0 <= i < 1 * ?h * ?w)%Z |- _ =>
      let q := fresh "q" in let r := fresh "r" in let Hq := fresh "Hq" in let Hr := fresh "Hr" in
      let E := fresh in let E1 := fresh in let E2 := fresh in let E3 := fresh in
      destruct (row_and_column h w i H ltac:(lia) ltac:(lia)) as [q [r [Hq [Hr E]]]];
      destruct (place_2 h w q r Hq Hr) as [_ [E1 [E2 E3]]]; rewrite <- E in E1, E2, E3;
      repeat match goal with K : context [(i / _)%Z] |- _ =>
        lazymatch K with E1 => fail | E2 => fail | E3 => fail | _ => rewrite ?E1, ?E2, ?E3 in K; tidy_in K end end;
      rewrite ?E1, ?E2, ?E3; clear E1 E2 E3
  | H : (0 <= i < 1 * ?w)%Z |- _ =>
      let E1 := fresh in let E2 := fresh in
      destruct (place_1 w i H) as [E1 E2];
      repeat match goal with K : context [(i / _)%Z] |- _ =>
        lazymatch K with E1 => fail | E2 => fail | _ => rewrite ?E1, ?E2 in K; tidy_in K end end;
      rewrite ?E1, ?E2; clear E1 E2
  end.

(** The greatest entry of a window that is attained once, at these indices. *)
Ltac unique_here :=
  match goal with
  | H : forall i j, (0 <= i < _)%Z -> (0 <= j < _)%Z -> unique_at _ _, I : (0 <= ?i < _)%Z, J : (0 <= ?j < _)%Z |- _ =>
      let P := fresh "P" in destruct (H i j I J) as [? [P ?]]; decompose [and] P
  | H : forall i j k, (0 <= i < _)%Z -> (0 <= j < _)%Z -> (0 <= k < _)%Z -> unique_at _ _,
    I : (0 <= ?i < _)%Z, J : (0 <= ?j < _)%Z, K : (0 <= ?k < _)%Z |- _ =>
      let P := fresh "P" in destruct (H i j k I J K) as [[? ?] [P ?]]; decompose [and] P
  end.

(** How far before an index the window begins. *)
Ltac offset_1 t := match t with context [((_ / 1) mod _ * 1 - ?p)%Z] => constr:(p) end.
Ltac offsets_2 t k :=
  match t with context [((_ / ?w) mod _ * 1 - ?p)%Z] =>
    lazymatch w with 1%Z => fail | _ => let q := offset_1 t in k p q w end end.

(** The place in the window at which the index is the one of the greatest entry. *)
Ltac place_of_greatest k :=
  lazymatch goal with |- is_derive (fun t => max_where _ _ (@?f t)) 0 _ =>
    let e := eval cbv beta in (f 0 0%Z) in
    lazymatch goal with
    | U : forall i : Z, _ -> i <> ?l -> _ < _ |- _ =>
        match e with context [((?b + (0 / 1) mod _ * 1 - ?p) / 1)%Z] => k (l - (b - p))%Z end
    | U : forall i : Z * Z, _ -> i <> (?l, ?a) -> _ |- _ =>
        match e with context [((?b + (0 / ?w) mod _ * 1 - ?p) / 1)%Z] =>
          lazymatch w with 1%Z => fail | _ => idtac end;
          match e with context [((?c + (0 / 1) mod _ * 1 - ?q) / 1)%Z] =>
            k ((l - (b - p)) * w + (a - (c - q)))%Z end end
    end
  end.

Ltac greatest_alone :=
  match goal with
  | U : forall i : Z, _ -> i <> ?l -> _ < _ |- ?x _ ?b < ?x _ _ =>
      eapply lt_as; [apply (U b); [repeat split; lia | intro; subst; lia] | f_equal; lia | f_equal; lia]
  | U : forall i : Z * Z, _ -> i <> (?l, ?a) -> _ |- ?x _ ?b ?c < ?x _ _ _ =>
      eapply lt_as; [apply (U (b, c)); [repeat split; lia | let E := fresh in intro E; inversion E; subst; nia] | f_equal; lia | f_equal; lia]
  end.

(** The place is in the window, and its conditions hold. *)
Ltac place_inside K :=
  lazymatch goal with
  | E : K = (_ * ?w + _)%Z |- (0 <= K < 1 * ?h * ?w)%Z =>
      subst K; refine (proj1 (place_2 h w _ _ _ _)); lia
  | |- _ => lia
  end.

(** In the goal, a place that is known by its row and column. *)
Ltac at_place K :=
  lazymatch goal with
  | E : K = (?q * ?w + ?r)%Z, R : (0 <= K < 1 * ?h * ?w)%Z |- _ =>
      let E1 := fresh in let E2 := fresh in let E3 := fresh in
      destruct (place_2 h w q r ltac:(lia) ltac:(lia)) as [_ [E1 [E2 E3]]]; rewrite <- E in E1, E2, E3;
      rewrite ?E1, ?E2, ?E3; clear E1 E2 E3
  | |- _ => by_place K
  end.

Ltac window_moves :=
  unique_here; cbv beta in *;
  place_of_greatest ltac:(fun e =>
    lazymatch goal with |- is_derive (fun t => max_where ?n _ _) 0 _ =>
      let K := fresh "K" in let E := fresh "E" in let R := fresh "R" in
      remember e as K eqn:E;
      assert (R : (0 <= K < n)%Z) by (place_inside K);
      eapply dual_is_derive;
      [ eapply (max_where_moves _ _ _ _ _ K R);
        [ cbv beta; at_place K; tidy; conditions_hold
        | intros; cbv beta; first [apply dual_line | match goal with M : _ |- _ => apply M end]
        | cbv beta; let i := fresh "i" in let C := fresh "C" in
          intros i ? C ?; at_place K; by_place i; tidy; conditions_of C; greatest_alone ]
      | reflexivity ]
    end).

(** * What is read at places that windows choose is given back to them. *)

Lemma given_back_2 : forall b m n l (dx : Z -> Z -> R) (e0 e1 : Z -> Z -> Z) s,
  (forall i j, (0 <= i < b)%Z -> (0 <= j < m)%Z -> (0 <= e0 i j < n)%Z /\ (0 <= e1 i j < l)%Z) ->
  sum_lt b (fun i => sum_lt m (fun j => dx (e0 i j) (e1 i j) * s i j))
  = sum_lt n (fun p => sum_lt l (fun q => dx p q * sum_lt b (fun i => sum_lt m (fun j =>
      if ((e0 i j =? p)%Z && (e1 i j =? q)%Z)%bool then s i j else 0)))).
Proof.
  intros b m n l dx e0 e1 s I.
  transitivity (sum_lt b (fun i => sum_lt m (fun j => sum_lt n (fun p => sum_lt l (fun q =>
    dx p q * if ((e0 i j =? p)%Z && (e1 i j =? q)%Z)%bool then s i j else 0))))).
  - apply sum_ext; intros i Hi; apply sum_ext; intros j Hj; destruct (I i j Hi Hj) as [I0 I1].
    rewrite (sum_single n (e0 i j)); [rewrite (sum_single l (e1 i j)); [rewrite !Z.eqb_refl; reflexivity|exact I1|]|exact I0|].
    + intros q _ N; rewrite Z.eqb_refl; destruct (Z.eqb_spec (e1 i j) q); [congruence|cbn; ring].
    + intros p _ N; apply sum_all_zero; intros q _; destruct (Z.eqb_spec (e0 i j) p); [congruence|cbn; ring].
  - rewrite (sum_ext b _ (fun i => sum_lt n (fun p => sum_lt m (fun j => sum_lt l (fun q =>
      dx p q * if ((e0 i j =? p)%Z && (e1 i j =? q)%Z)%bool then s i j else 0))))) by (intros; apply sum_comm).
    rewrite sum_comm; apply sum_ext; intros p _.
    rewrite (sum_ext b _ (fun i => sum_lt l (fun q => sum_lt m (fun j =>
      dx p q * if ((e0 i j =? p)%Z && (e1 i j =? q)%Z)%bool then s i j else 0)))) by (intros; apply sum_comm).
    rewrite sum_comm; apply sum_ext; intros q _.
    rewrite <- sum_scal_l; apply sum_ext; intros i _; rewrite <- sum_scal_l; reflexivity.
Qed.

Lemma given_back_3 : forall b m o n l k (dx : Z -> Z -> Z -> R) (e0 e1 e2 : Z -> Z -> Z -> Z) s,
  (forall i j h, (0 <= i < b)%Z -> (0 <= j < m)%Z -> (0 <= h < o)%Z ->
    (0 <= e0 i j h < n)%Z /\ (0 <= e1 i j h < l)%Z /\ (0 <= e2 i j h < k)%Z) ->
  sum_lt b (fun i => sum_lt m (fun j => sum_lt o (fun h => dx (e0 i j h) (e1 i j h) (e2 i j h) * s i j h)))
  = sum_lt n (fun p => sum_lt l (fun q => sum_lt k (fun r => dx p q r *
      sum_lt b (fun i => sum_lt m (fun j => sum_lt o (fun h =>
        if ((e0 i j h =? p)%Z && (e1 i j h =? q)%Z && (e2 i j h =? r)%Z)%bool then s i j h else 0)))))).
Proof.
  intros b m o n l k dx e0 e1 e2 s I.
  set (t := fun p q r i j h => if ((e0 i j h =? p)%Z && (e1 i j h =? q)%Z && (e2 i j h =? r)%Z)%bool then s i j h else 0).
  transitivity (sum_lt b (fun i => sum_lt m (fun j => sum_lt o (fun h =>
    sum_lt n (fun p => sum_lt l (fun q => sum_lt k (fun r => dx p q r * t p q r i j h))))))).
  - apply sum_ext; intros i Hi; apply sum_ext; intros j Hj; apply sum_ext; intros h Hh; destruct (I i j h Hi Hj Hh) as [I0 [I1 I2]].
    rewrite (sum_single n (e0 i j h)); [rewrite (sum_single l (e1 i j h)); [rewrite (sum_single k (e2 i j h))|exact I1|]|exact I0|].
    + unfold t; rewrite !Z.eqb_refl; reflexivity.
    + exact I2.
    + intros r _ N; unfold t; rewrite !Z.eqb_refl; destruct (Z.eqb_spec (e2 i j h) r); [congruence|cbn; ring].
    + intros q _ N; apply sum_all_zero; intros r _; unfold t; rewrite Z.eqb_refl;
        destruct (Z.eqb_spec (e1 i j h) q); [congruence|cbn; ring].
    + intros p _ N; apply sum_all_zero; intros q _; apply sum_all_zero; intros r _; unfold t.
      destruct (Z.eqb_spec (e0 i j h) p); [congruence|cbn; ring].
  - rewrite (sum_ext b _ (fun i => sum_lt n (fun p => sum_lt l (fun q => sum_lt k (fun r =>
      sum_lt m (fun j => sum_lt o (fun h => dx p q r * t p q r i j h))))))).
    2:{ intros i _; rewrite (sum_ext m _ (fun j => sum_lt n (fun p => sum_lt l (fun q => sum_lt k (fun r =>
          sum_lt o (fun h => dx p q r * t p q r i j h)))))).
        - rewrite sum_comm; apply sum_ext; intros p _; rewrite sum_comm; apply sum_ext; intros q _; apply sum_comm.
        - intros j _; rewrite sum_comm; apply sum_ext; intros p _; rewrite sum_comm; apply sum_ext; intros q _; apply sum_comm. }
    rewrite sum_comm; apply sum_ext; intros p _; rewrite sum_comm; apply sum_ext; intros q _; rewrite sum_comm; apply sum_ext; intros r _.
    rewrite <- sum_scal_l; apply sum_ext; intros i _; rewrite <- sum_scal_l; apply sum_ext; intros j _; rewrite <- sum_scal_l; reflexivity.
Qed.

(** A window holds an entry: the one where it stands. *)
Ltac standing K :=
  lazymatch goal with |- exists k, (0 <= k < ?n)%Z /\ @?p k =>
    let e := eval cbv beta in (p 0%Z) in
    lazymatch n with
    | (1 * ?h * ?w)%Z =>
        match e with context [((_ + (0 / w) mod h * 1 - ?o) / 1)%Z] =>
          match e with context [((_ + (0 / 1) mod w * 1 - ?u) / 1)%Z] => remember (o * w + u)%Z as K end end
    | (1 * ?w)%Z => match e with context [((_ + (0 / 1) mod w * 1 - ?o) / 1)%Z] => remember o as K end
    end;
    let R := fresh "R" in assert (R : (0 <= K < n)%Z) by (place_inside K);
    exists K; split; [exact R|]; at_place K; tidy
  end.

Ltac holds_entry := let K := fresh "K" in standing K; conditions_hold.

(** The place of the greatest entry of a window: it is in the window, and its conditions hold. *)
Ltac greatest_places :=
  repeat match goal with
  | |- context [argmax_where ?n ?p ?f] =>
      let A := fresh "A" in let C := fresh "C" in let k := fresh "k" in
      destruct (argmax_where_is n p f ltac:(cbv beta; holds_entry)) as [A [C _]];
      generalize dependent (argmax_where n p f); intros k A C; cbv beta in C;
      by_place k; tidy_in C; conditions_of C
  end; tidy.

Ltac windows_given_back :=
  first [ eapply given_back_2 | eapply given_back_3 ]; intros; greatest_places; repeat split; lia.

(** * Where programs over windows are defined *)

Ltac places := repeat match goal with |- context [(?k / _)%Z] => is_var k; by_place k end; tidy.

Ltac windows_defined :=
  cbv beta;
  lazymatch goal with
  | |- True => exact I
  | |- (0 <= ?e < _)%Z =>
      first [assumption | (lazymatch e with context [argmax_where] => greatest_places | _ => places end; lia)]
  | |- _ /\ _ => split; windows_defined
  | |- ~ (_ = _ :> Z) => first [lia | apply not_eq_sym, Z.lt_neq; product_above]
  | |- forall _, _ => intro; windows_defined
  | |- if ?c then _ else _ =>
      let C := fresh "C" in
      destruct c eqn:C; [| try exact I];
      (lazymatch type of C with
       | context [argmax_where] => clear C
       | _ = true => revert C; places; intro C; conditions_of C
       | _ => clear C
       end);
      windows_defined
  | |- exists k, (0 <= k < _)%Z /\ _ => let K := fresh "K" in standing K; repeat split; lia
  end.

(** * Maxima over two axes *)

Lemma min2_as_max2 : forall n m f, (0 < n)%Z ->
  min_lt n (fun i => min_lt m (f i)) = - max_lt n (fun i => max_lt m (fun j => - f i j)).
Proof.
  intros n m f H; unfold min_lt; f_equal; apply max_ext; [exact H|]; intros; apply Ropp_involutive.
Qed.

Lemma sum2_at : forall n m k l f, (0 <= k < n)%Z -> (0 <= l < m)%Z ->
  (forall i j, (0 <= i < n)%Z -> (0 <= j < m)%Z -> (i, j) <> (k, l) -> f i j = 0) ->
  sum_lt n (fun i => sum_lt m (f i)) = f k l.
Proof.
  intros n m k l f Hk Hl Z; rewrite (sum_single n k); [apply (sum_single m l); [exact Hl|]|exact Hk|].
  - intros j Hj N; apply Z; try assumption; congruence.
  - intros i Hi N; apply sum_all_zero; intros j Hj; apply Z; try assumption; congruence.
Qed.

(** The greatest entry is among the entries. *)
Lemma max2_attained : forall n m f, (0 < n)%Z -> (0 < m)%Z -> exists k l, (0 <= k < n)%Z /\ (0 <= l < m)%Z /\
  max_lt n (fun i => max_lt m (f i)) = f k l.
Proof.
  intros n m f Hn Hm; destruct (max_attained n (fun i => max_lt m (f i)) Hn) as [k [Hk ->]].
  destruct (max_attained m (f k) Hm) as [l [Hl ->]]; exists k, l; repeat split; lia.
Qed.

(** How many entries are greatest: not 0. *)
Lemma count_of_max2 : forall n m f, (0 < n)%Z -> (0 < m)%Z ->
  sum_lt n (fun i => sum_lt m (fun j => if Reqb (f i j) (max_lt n (fun i => max_lt m (f i))) then 1 else 0)) <> 0.
Proof.
  intros n m f Hn Hm; destruct (max2_attained n m f Hn Hm) as [k [l [Hk [Hl ->]]]].
  apply Rgt_not_eq; apply (sum_pos_one n k); [exact Hk| |].
  - intros i Hi; apply sum_nonneg; intros j Hj; destruct (Reqb _ _); lra.
  - apply (sum_pos_one m l); [exact Hl| |].
    + intros j Hj; destruct (Reqb _ _); lra.
    + destruct (Reqb_spec (f k l) (f k l)); [lra|contradiction].
Qed.

(** The single greatest entries at these indices, one for each hypothesis. *)
Ltac uniques :=
  repeat match goal with
  | H : forall i j k, (0 <= i < _)%Z -> (0 <= j < _)%Z -> (0 <= k < _)%Z -> unique_at _ _,
    I : (0 <= ?i < _)%Z, J : (0 <= ?j < _)%Z, K : (0 <= ?k < _)%Z |- _ =>
      let P := fresh "P" in destruct (H i j k I J K) as [[? ?] [[? ?] P]]; cbv beta iota in P; clear H
  end.

Ltac by_value := first [reflexivity | ring | (split_cases; first [reflexivity | ring | lra])].

Ltac below_greatest :=
  intros; hypotheses; cbv beta;
  match goal with
  | U : forall i : Z * Z, _ -> i <> (?k, ?l) -> _, N : (?i, ?j) <> (?k, ?l) |- _ =>
      eapply lt_as; [apply (U (i, j)); [split; assumption | exact N] | cbv beta iota; by_value | cbv beta iota; by_value]
  end.

Ltac entries_of_maximum_move := intros; cbv beta; derive; asked.

Ltac greatest_law :=
  lazymatch goal with
  | |- dual (fun t => max_lt ?n (fun i => max_lt ?m (@?f t i))) _ _ =>
      match goal with U : forall i : Z * Z, _ -> i <> (?k, ?l) -> _ |- _ =>
        eapply (dual_max2 n m f _ _ k l); [assumption | assumption | entries_of_maximum_move | solve [below_greatest]] end
  | |- dual (fun t => min_lt ?n (fun i => min_lt ?m (@?f t i))) _ _ =>
      apply (dual_ext (fun t => - max_lt n (fun i => max_lt m (fun j => - f t i j))));
      [ intro; symmetry; apply min2_as_max2; lia | eapply dual_opp; greatest_law ]
  | |- dual (fun t => @?f t - @?g t) _ _ => eapply (dual_minus f g); greatest_law
  end.

(** Each maximum as the entry where it is. *)
Ltac maxima_at :=
  repeat match goal with |- context [min_lt ?n (fun i => min_lt ?m (fun j => @?f i j))] =>
    rewrite (min2_as_max2 n m f) by lia; cbv beta end;
  repeat match goal with |- context [max_lt ?n (fun i => max_lt ?m (fun j => @?f i j))] =>
    match goal with U : forall i : Z * Z, _ -> i <> (?k, ?l) -> _ |- _ =>
      rewrite (max2_is n m f k l) by (first [assumption | solve [below_greatest]]); cbv beta end end.

Ltac not_there :=
  intros; hypotheses; cbv beta;
  match goal with |- context [Reqb ?a ?b] =>
    rewrite (Reqb_false a b); [unfold Rdiv; ring|];
    first [ apply Rlt_not_eq; solve [below_greatest]
          | let E := fresh in intro E; apply (Rlt_irrefl b); rewrite <- E at 1; solve [below_greatest]
          | let E := fresh in intro E; apply (Rlt_irrefl (- b)); rewrite <- E at 1; solve [below_greatest] ]
  end.

(** Sums over all entries of what is 0 everywhere but at a greatest one. *)
Ltac only_there :=
  repeat match goal with |- context [sum_lt ?n (fun i => sum_lt ?m (fun j => @?f i j))] =>
    match goal with U : forall i : Z * Z, _ -> i <> (?k, ?l) -> _ |- _ =>
      rewrite (sum2_at n m k l f) by (first [assumption | solve [not_there]]); cbv beta end end.

Ltac greatest_moves :=
  uniques; cbv beta; eapply dual_is_derive; [greatest_law|]; cbv beta;
  maxima_at; repeat setoid_rewrite Rmult_minus_distr_r; repeat setoid_rewrite sum_minus; only_there;
  hypotheses; rewrite ?Reqb_true by ring; split_cases; first [field | lra].

(** A division by how many entries are greatest. *)
Ltac counted_everywhere :=
  cbv beta;
  lazymatch goal with
  | |- forall _, _ => intro; counted_everywhere
  | |- _ /\ _ => split; counted_everywhere
  | |- if true then _ else _ => cbv iota; counted_everywhere
  | |- ~ (sum_lt ?n (fun i => sum_lt ?m (fun j => if Reqb _ (max_lt _ (fun i => max_lt _ (fun j => @?f i j))) then _ else _)) = 0) =>
      apply (count_of_max2 n m f); lia
  | |- ~ (sum_lt ?n (fun i => sum_lt ?m (fun j => if Reqb (@?g i j) (min_lt _ (fun i => min_lt _ (fun j => @?f i j))) then _ else _)) = 0) =>
      rewrite (min2_as_max2 n m f) by lia;
      let E := fresh in
      assert (E := count_of_max2 n m (fun i j => - f i j) ltac:(lia) ltac:(lia)); cbv beta in E;
      intro; apply E; etransitivity; [|eassumption];
      apply sum_ext; intros; apply sum_ext; intros;
      match goal with |- (if Reqb (- ?a) ?b then _ else _) = (if Reqb ?a (- ?b) then _ else _) =>
        destruct (Reqb_spec (- a) b), (Reqb_spec a (- b)); reflexivity || (exfalso; lra) end
  | |- _ => defined_everywhere
  end.

(** A printed theorem about maxima over windows. *)
Ltac windows law :=
  lazymatch goal with
  | |- is_derive _ _ _ => first [solve [prefix_moves] | window_moves | greatest_moves | law]
  | |- sum_lt _ _ = _ => first [windows_given_back | law]
  | |- _ => first [windows_defined | counted_everywhere | law]
  end.
