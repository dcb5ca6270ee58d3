(** Adjoint laws by entries: both sides as one matrix under the tangents and the seeds, whatever indices their programs
    read at. An entry that is read at a computed index is a sum over its axis, of which a condition leaves one term;
    then the tangent and the seed stand in front at indices of their own, and behind them are sums over indices that
    conditions fix. *)

From Coq Require Import Reals Lra Lia ZArith Bool List.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions Tactics Derivatives Algebra Laws Axes Labels Bilinear.
Open Scope R_scope.

(** * Conditions in front of terms *)

Lemma given_product : forall (c d : bool) a b x y,
  a = (if c then x else 0) -> b = (if d then y else 0) -> a * b = if (c && d)%bool then x * y else 0.
Proof. intros [] [] a b x y -> ->; simpl; ring. Qed.

Lemma given_product_l : forall (c : bool) a b x, a = (if c then x else 0) -> a * b = if c then x * b else 0.
Proof. intros [] a b x ->; ring. Qed.

Lemma given_product_r : forall (c : bool) a b y, b = (if c then y else 0) -> a * b = if c then a * y else 0.
Proof. intros [] a b y ->; ring. Qed.

Lemma given_always : forall (c : bool) (a : R), c = true -> a = if c then a else 0.
Proof. intros c a ->; reflexivity. Qed.

Lemma given_ind : forall c : bool, ind c = if c then 1 else 0.
Proof. reflexivity. Qed.

Lemma given_both : forall (c d : bool) (a : R), (if c then if d then a else 0 else 0) = if (c && d)%bool then a else 0.
Proof. intros [] [] a; reflexivity. Qed.

Lemma given_inside : forall (c d : bool) (a x : R), a = (if d then x else 0) -> (if c then a else 0) = if (c && d)%bool then x else 0.
Proof. intros [] [] a x ->; reflexivity. Qed.

Ltac conditional t := lazymatch t with context [ind] => idtac | context [if _ then _ else 0] => idtac end.

(** Goal [t = if ?c then ?a else 0], where [t] is a product. *)
Ltac guarded :=
  lazymatch goal with
  | |- ind ?c = _ => apply given_ind
  | |- (if ?c then ?a else 0) = _ => eapply given_inside; guarded
  | |- ?a * ?b = _ =>
      tryif conditional a then
        (tryif conditional b then (eapply given_product; guarded) else (eapply given_product_l; guarded))
      else
        (tryif conditional b then (eapply given_product_r; guarded) else (eapply given_always; reflexivity))
  | |- _ => eapply given_always; reflexivity
  end.

(** * Axes of moving tensors in front *)

Lemma delta_axis : forall n e (c : bool) (F : Z -> R), (c = true -> (0 <= e < n)%Z) ->
  (if c then F e else 0) = sum_lt n (fun i => if (c && (e =? i)%Z)%bool then F i else 0).
Proof.
  intros n e [] F H; simpl; [|symmetry; apply sum_zero].
  rewrite (sum_single n e); [rewrite Z.eqb_refl; reflexivity | apply H; reflexivity |].
  intros i _ N; destruct (Z.eqb_spec e i); [congruence | reflexivity].
Qed.

Lemma delta_axis_all : forall n e (F : Z -> R), (0 <= e < n)%Z -> F e = sum_lt n (fun i => if (e =? i)%Z then F i else 0).
Proof. intros n e F H; exact (delta_axis n e true F (fun _ => H)). Qed.

Lemma sum_at : forall n k f, (forall i, (0 <= i < n)%Z -> i <> k -> f i = 0) ->
  sum_lt n f = if ((0 <=? k)%Z && (k <? n)%Z)%bool then f k else 0.
Proof.
  intros n k f H; destruct (Z.leb_spec 0 k); destruct (Z.ltb_spec k n); simpl;
    first [apply sum_single; [lia | exact H] | apply sum_all_zero; intros; apply H; lia].
Qed.

(** What a condition says: [c = true] or [c = false] as a proposition about numbers, by the form of [c]. *)
Lemma says_both : forall (c d : bool) P Q, (c = true <-> P) -> (d = true <-> Q) -> ((c && d)%bool = true <-> P /\ Q).
Proof. intros c d P Q <- <-; apply andb_true_iff. Qed.

Lemma says_either : forall (c d : bool) P Q, (c = true <-> P) -> (d = true <-> Q) -> ((c || d)%bool = true <-> P \/ Q).
Proof. intros c d P Q <- <-; apply orb_true_iff. Qed.

Lemma says_not_both : forall (c d : bool) P Q, (c = false <-> P) -> (d = false <-> Q) -> ((c && d)%bool = false <-> P \/ Q).
Proof. intros c d P Q <- <-; apply andb_false_iff. Qed.

Lemma says_neither : forall (c d : bool) P Q, (c = false <-> P) -> (d = false <-> Q) -> ((c || d)%bool = false <-> P /\ Q).
Proof. intros c d P Q <- <-; apply orb_false_iff. Qed.

Lemma says_not : forall (c : bool) P, (c = false <-> P) -> (negb c = true <-> P).
Proof. intros c P <-; apply negb_true_iff. Qed.

Lemma says_not_not : forall (c : bool) P, (c = true <-> P) -> (negb c = false <-> P).
Proof. intros c P <-; apply negb_false_iff. Qed.

(** Goal [c = _ <-> ?P]. *)
Ltac says :=
  lazymatch goal with
  | |- (_ && _)%bool = true <-> _ => eapply says_both; says
  | |- (_ || _)%bool = true <-> _ => eapply says_either; says
  | |- (_ && _)%bool = false <-> _ => eapply says_not_both; says
  | |- (_ || _)%bool = false <-> _ => eapply says_neither; says
  | |- negb _ = true <-> _ => eapply says_not; says
  | |- negb _ = false <-> _ => eapply says_not_not; says
  | |- (_ =? _)%Z = true <-> _ => apply Z.eqb_eq
  | |- (_ <=? _)%Z = true <-> _ => apply Z.leb_le
  | |- (_ <? _)%Z = true <-> _ => apply Z.ltb_lt
  | |- (_ =? _)%Z = false <-> _ => apply Z.eqb_neq
  | |- (_ <=? _)%Z = false <-> _ => apply Z.leb_gt
  | |- (_ <? _)%Z = false <-> _ => apply Z.ltb_ge
  | |- _ => apply iff_refl
  end.

Ltac facts_in H :=
  lazymatch type of H with ?c = ?b :> bool =>
    let E := fresh in eassert (E : c = b <-> _) by says; apply (proj1 E) in H; clear E end.

Ltac facts :=
  lazymatch goal with |- ?c = ?b :> bool =>
    let E := fresh in eassert (E : c = b <-> _) by says; apply (proj2 E); clear E end.

(** Indices that are chosen: the choice is made. *)
Ltac choose_indices :=
  repeat (match goal with
          | |- context [if ?c then ?a else _] => lazymatch type of a with Z => decide_bool c end
          | H : context [if ?c then ?a else _] |- _ => lazymatch type of a with Z => decide_bool c end
          end; cbn [andb orb negb] in *; cbv beta iota in *; try absurd_index).

Ltac in_its_axis := first [ place_in_range | index_law | (choose_indices; index_law) ].

Ltac tidy_places :=
  repeat progress rewrite ?Z.mul_1_l, ?Z.mul_1_r, ?Z.add_0_l, ?Z.add_0_r, ?Z.sub_0_r, ?Z.div_1_r, ?Z.mod_1_r;
  quotients_of_products;
  lazymatch goal with
  | |- context [Z.div] => places
  | |- context [Z.modulo] => places
  | |- _ => idtac
  end;
  repeat progress (rewrite ?Z.eqb_refl, ?andb_true_l, ?andb_true_r).

(** Goal [t = ?e]: a term behind its condition, with its places tidied. *)
Ltac tidy_term := etransitivity; [guarded |]; tidy_places; reflexivity.

(** A sum over places in a window, of which the digits are read: one sum a digit. *)
Ltac over_digits n m f :=
  let read := constr:(fun at_term : Z => ltac:(
    let b := eval cbv beta in (f at_term) in lazymatch b with context [((at_term / _) mod _)%Z] => exact tt end)) in
  etransitivity; [apply (sum_flatten n m f); not_negative |]; cbv beta;
  lazymatch n with
  | (1 * _)%Z => idtac
  | (?p * ?q)%Z => try (lazymatch goal with |- sum_lt n ?g = _ => etransitivity; [apply (sum_flatten p q g); not_negative |] end; cbv beta)
  | _ => idtac
  end.

(** Goal [t = ?e], [t] a sum of monomials. *)
Ltac tidy_terms :=
  cbv beta;
  lazymatch goal with
  | |- 0 = _ => reflexivity
  | |- _ + _ = _ => etransitivity; [apply f_equal2; tidy_terms | reflexivity]
  | |- sum_lt (?n * ?m)%Z ?f = _ => first
      [ over_digits n m f; eapply sum_same; [intros ? ?; tidy_terms | reflexivity]
      | eapply sum_same; [intros ? ?; tidy_terms | reflexivity] ]
  | |- sum_lt _ _ = _ => eapply sum_same; [intros ? ?; tidy_terms | reflexivity]
  | |- _ * 0 = _ => apply Rmult_0_r
  | |- _ => tidy_term
  end.

(** Goal [t = ?e]: the next axis of the tensor [P] in front, over [n]. *)
Ltac axis_front P n :=
  cbv beta;
  lazymatch goal with
  | |- 0 = _ => symmetry; apply sum_zero
  | |- ?a + ?b = _ => etransitivity; [apply f_equal2; axis_front P n | symmetry; apply sum_plus]
  | |- sum_lt ?m ?f = _ =>
      etransitivity; [eapply sum_same; [intros ? ?; axis_front P n | reflexivity] | apply sum_comm]
  | |- (if ?c then ?r else 0) = _ =>
      match r with context C [P ?e] =>
        let F := constr:(fun at_axis : Z => ltac:(let r' := context C [P at_axis] in exact r')) in
        refine (delta_axis n e c F _); let H := fresh "H" in intro H; facts_in H; hypotheses; in_its_axis
      end
  | |- ?r = _ =>
      match r with context C [P ?e] =>
        let F := constr:(fun at_axis : Z => ltac:(let r' := context C [P at_axis] in exact r')) in
        refine (delta_axis_all n e F _); hypotheses; in_its_axis
      end
  end.

(** * Terms with a tensor and those without *)

Lemma apart_plus : forall a b r s p q : R, a = r + p -> b = s + q -> a + b = (r + s) + (p + q).
Proof. intros a b r s p q -> ->; ring. Qed.

(** Goal [t = ?r + ?p]: in [p] what [X] is in. *)
Ltac with_tensor X :=
  lazymatch goal with
  | |- ?a + ?b = _ => eapply apart_plus; with_tensor X
  | |- ?t = _ => lazymatch t with
      | context [X] => symmetry; apply Rplus_0_l
      | _ => symmetry; apply Rplus_0_r
      end
  end.

(** Goal [t = d * ?e]. *)
Lemma factor_plus : forall d a b x y : R, a = d * x -> b = d * y -> a + b = d * (x + y).
Proof. intros d a b x y -> ->; ring. Qed.

Lemma factor_given : forall d (c : bool) a x, a = d * x -> (if c then a else 0) = d * (if c then x else 0).
Proof. intros d [] a x ->; ring. Qed.

Ltac factored d :=
  cbv beta;
  lazymatch goal with
  | |- 0 = _ => symmetry; apply Rmult_0_r
  | |- _ + _ = _ => eapply factor_plus; factored d
  | |- sum_lt ?n ?f = _ => eapply sum_pull; intros ? ?; factored d
  | |- (if _ then _ else 0) = _ => eapply factor_given; factored d
  | |- ?t = _ => let r := without t d in transitivity (d * r); [ring | reflexivity]
  end.

(** * Digits of indices of axes that are products *)

Lemma digits_of : forall i n m, (1 <= m)%Z -> (0 <= i < n * m)%Z ->
  exists q r, i = (q * m + r)%Z /\ (0 <= q < n)%Z /\ (0 <= r < m)%Z.
Proof.
  intros i n m M H; exists (i / m)%Z, (i mod m)%Z; assert (D := Z.div_mod i m ltac:(lia)).
  assert (B := Z.mod_pos_bound i m ltac:(lia)); repeat split; try lia; [apply Z.div_pos; lia|apply Z.div_lt_upper_bound; lia].
Qed.

Ltac take_digits i n m H :=
  let q := fresh "q" in let r := fresh "r" in let E := fresh "E" in
  destruct (digits_of i n m ltac:(first [assumption | lia | product_above]) H) as [q [r [E [? ?]]]]; clear H; subst i.

Ltac digits :=
  repeat match goal with
  | H : (0 <= ?i < ?n * ?m)%Z |- context [(_ / ?m)%Z] => is_var i; take_digits i n m H
  | H : (0 <= ?i < ?n * ?m)%Z |- context [(_ / ?n)%Z] => is_var i; rewrite (Z.mul_comm n m) in H; take_digits i m n H
  end.

(** * Sums whose indices conditions fix *)

(** The [a] for which [e] is [o]. *)
Ltac solution a e o :=
  lazymatch e with
  | a => o
  | (?x + ?y)%Z => lazymatch x with context [a] => solution a x constr:((o - y)%Z) | _ => solution a y constr:((o - x)%Z) end
  | (?x - ?y)%Z => lazymatch x with context [a] => solution a x constr:((o + y)%Z) | _ => solution a y constr:((x - o)%Z) end
  | (?x * ?y)%Z => lazymatch x with context [a] => solution a x constr:((o / y)%Z) | _ => solution a y constr:((o / x)%Z) end
  | (?x / ?y)%Z => lazymatch x with context [a] => solution a x constr:((o * y)%Z) end
  end.

Ltac fixed_at f :=
  constr:(fun at_term : Z => ltac:(
    let b := eval cbv beta in (f at_term) in
    lazymatch b with if ?c then _ else 0 =>
      match c with
      | context [Z.eqb at_term ?l] => lazymatch l with context [at_term] => fail | _ => exact l end
      | context [Z.eqb ?l at_term] => lazymatch l with context [at_term] => fail | _ => exact l end
      | context [Z.eqb ?e ?l] => lazymatch l with context [at_term] => fail | _ => idtac end;
          lazymatch e with context [at_term] => idtac end; let s := solution at_term e l in exact s
      | context [Z.eqb ?l ?e] => lazymatch l with context [at_term] => fail | _ => idtac end;
          lazymatch e with context [at_term] => idtac end; let s := solution at_term e l in exact s
      end
    end)).

Ltac no_other_term :=
  lazymatch goal with |- (if ?c then _ else 0) = 0 =>
    let E := fresh "E" in destruct c eqn:E; [exfalso; facts_in E; first [index_law | (choose_indices; index_law)] | reflexivity]
  end.

(** Goal [sum_lt n f = ?e], where [f] is a term behind its condition. *)
Ltac fixed_index :=
  lazymatch goal with |- sum_lt ?n ?f = _ =>
    let place := fixed_at f in
    lazymatch place with fun _ => ?l =>
      etransitivity; [apply (sum_at n l f); intros ? ? ?; cbv beta; no_other_term |];
      cbv beta; etransitivity; [apply given_both |];
      repeat progress rewrite ?Z.eqb_refl, ?andb_true_l, ?andb_true_r; reflexivity
    end
  end.

(** Goal [t = ?e]: without sums. *)
Ltac fixed_indices :=
  cbv beta;
  lazymatch goal with
  | |- _ + _ = _ => etransitivity; [apply f_equal2; fixed_indices | reflexivity]
  | |- sum_lt ?n (fun i => sum_lt ?m (fun j => @?f i j)) = _ => first
      [ (etransitivity; [eapply sum_same; [intros ? ?; fixed_indices | reflexivity] |]); cbv beta; fixed_index
      | (etransitivity; [apply (sum_comm n m f) |]);
        (etransitivity; [eapply sum_same; [intros ? ?; fixed_indices | reflexivity] |]); cbv beta; fixed_index ]
  | |- sum_lt ?n _ = _ =>
      (etransitivity; [eapply sum_same; [intros ? ?; fixed_indices | reflexivity] |]); cbv beta; fixed_index
  | |- _ => reflexivity
  end.

Lemma digit_fixed : forall q p c r, (0 <= r < c)%Z -> (0 <= q * c + r - p * c)%Z -> (q * c + r - p * c < c)%Z -> q = p.
Proof. intros; nia. Qed.

Lemma digits_equal : forall q p c r s, (0 <= r < c)%Z -> (0 <= s < c)%Z -> (q * c + r = p * c + s)%Z -> q = p /\ r = s.
Proof.
  intros q p c r s R S E; assert (q = p); [|subst; lia].
  rewrite <- (place_div q c r R), E, place_div by exact S; reflexivity.
Qed.

(** Where a difference of places is a digit, what is before the digits is the same. *)
Ltac same_digits :=
  repeat match goal with
  | H : (0 <= ?q * ?c + ?r - ?p * ?c)%Z, K : (?q * ?c + ?r - ?p * ?c < ?c)%Z, L : (0 <= ?r < ?c)%Z |- _ =>
      assert (q = p) by (apply (digit_fixed q p c r); assumption); clear H; subst q
  | H : (?q * ?c + ?r = ?p * ?c + ?s)%Z, L : (0 <= ?r < ?c)%Z, M : (0 <= ?s < ?c)%Z |- _ =>
      is_var q; let D := fresh "D" in destruct (digits_equal q p c r s L M H) as [D ?]; clear H; subst q
  end.

Ltac facts_apart :=
  repeat match goal with
  | K : _ /\ _ |- _ =>
      lazymatch type of K with (0 <= ?i < _)%Z => tryif is_var i then fail else idtac | _ => idtac end; destruct K
  end;
  same_digits.

Ltac same_condition :=
  apply eq_true_iff_eq; split; let H := fresh "H" in intro H; facts_in H; facts; facts_apart;
  repeat match goal with |- _ /\ _ => split end; first [index_law | (choose_indices; index_law)].

Ltac same_entries :=
  split_guards;
  first [ reflexivity | ring | (unify_entries; first [reflexivity | ring | (unfold Rdiv; ring) | (unfold Rdiv; rewrite ?mult_IZR; field; side)]) ].

Ltac entries_alike :=
  tidy_places; hypotheses;
  first
    [ reflexivity
    | lazymatch goal with |- (if ?c then _ else 0) = (if ?d then _ else 0) =>
        let E := fresh "E" in assert (E : c = d) by same_condition; rewrite E; clear E;
        let H := fresh "H" in destruct d eqn:H; [facts_in H; facts_apart; same_entries | reflexivity]
      end
    | repeat (match goal with |- context [if ?c then _ else 0] =>
                let H := fresh "H" in destruct c eqn:H; facts_in H; try absurd_index end);
      same_entries ].

Ltac both_fixed := etransitivity; [fixed_indices | symmetry; etransitivity; [fixed_indices | symmetry]].

(** * The law *)

(** The sizes of a tensor's axes. *)
Definition extents {A : Type} (_ : A) (_ : list Z) : Prop := True.

Ltac known_extents t :=
  lazymatch t with
  | ?a + ?b => known_extents a; known_extents b
  | sum_lt ?a (fun i => sum_lt ?b (fun j => sum_lt ?c (fun k => sum_lt ?d (fun l => sum_lt ?e (fun o => _ * ?s i j k l o))))) =>
      assert (extents s (a :: b :: c :: d :: e :: nil)) by exact I
  | sum_lt ?a (fun i => sum_lt ?b (fun j => sum_lt ?c (fun k => sum_lt ?d (fun l => _ * ?s i j k l)))) =>
      assert (extents s (a :: b :: c :: d :: nil)) by exact I
  | sum_lt ?a (fun i => sum_lt ?b (fun j => sum_lt ?c (fun k => _ * ?s i j k))) => assert (extents s (a :: b :: c :: nil)) by exact I
  | sum_lt ?a (fun i => sum_lt ?b (fun j => _ * ?s i j)) => assert (extents s (a :: b :: nil)) by exact I
  | sum_lt ?a (fun i => _ * ?s i) => assert (extents s (a :: nil)) by exact I
  | _ * ?s => assert (extents s (@nil Z)) by exact I
  end.

Ltac normal_terms := etransitivity; [monomials | etransitivity; [tidy_terms |]].

(** Goal [p = q], both with the tensor [P] in each term: an equation of what is behind one of its entries. *)
Ltac behind_seed P sizes :=
  lazymatch sizes with
  | ?n :: ?rest =>
      etransitivity; [axis_front P n | symmetry; etransitivity; [axis_front P n | symmetry]];
      apply sum_ext; let i := fresh "o" in intros i ?; cbv beta; behind_seed constr:(P i) rest
  | _ =>
      etransitivity; [factored P | symmetry; etransitivity; [factored P | symmetry]];
      apply f_equal; digits
  end.

Ltac seeds_behind :=
  lazymatch goal with
  | K : extents ?S ?sizes, K' : extents ?S' _ |- _ =>
      etransitivity; [with_tensor S | symmetry; etransitivity; [with_tensor S | symmetry]];
      apply f_equal2; rewrite ?Rplus_0_l, ?Rplus_0_r; [clear K; seeds_behind | clear K'; behind_seed S sizes]
  | K : extents ?S ?sizes |- _ => clear K; behind_seed S sizes
  end.

Ltac by_matrix_entries :=
  etransitivity; [normal_terms; reflexivity | symmetry; etransitivity; [normal_terms; reflexivity | symmetry]];
  seeds_behind; both_fixed; entries_alike.

(** Goal [p = A], where [A] is a sum over all entries of the tangent [P]. *)
Ltac behind_tangent P :=
  lazymatch goal with
  | |- _ = sum_lt ?n _ =>
      lazymatch type of P with Z -> _ =>
        etransitivity; [axis_front P n |]; apply sum_ext; let i := fresh "i" in intros i ?; cbv beta; behind_tangent constr:(P i)
      end
  | |- _ = P * _ => etransitivity; [factored P |]; apply f_equal; digits
  end.

Ltac tangents_behind names leaf :=
  lazymatch names with
  | (?rest, ?X) =>
      etransitivity; [with_tensor X |]; rewrite ?Rplus_0_l, ?Rplus_0_r; apply f_equal2;
      [tangents_behind rest leaf | behind_tangent X; leaf]
  | ?X => behind_tangent X; leaf
  end.

(** The adjoint law; [names] are the tangents. *)
Ltac entries names :=
  lazymatch goal with |- ?l = _ :> R => cbv beta; known_extents l end;
  choose_indices; mark names; repeat match goal with K : extents ?S _ |- _ => lazymatch goal with _ : moving S |- _ => fail | _ => mark S end end;
  quotients_of_products;
  normal_terms; tangents_behind names ltac:(by_matrix_entries).

(** The same where conditions on indices stand in the programs. *)
Ltac entries_of_indices names :=
  lazymatch goal with
  | |- context [Z.modulo] => entries names
  | |- context [Z.eqb] => entries names
  | |- context [Z.ltb] => entries names
  | |- context [Z.leb] => entries names
  end.
