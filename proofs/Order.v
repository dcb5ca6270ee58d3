(** Sorted entries: an entry's place is how many come before it, which stays as it is where all entries differ. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions Tactics Derivatives Algebra Laws Axes Labels
  Defined Windows.
Open Scope R_scope.

Lemma place_before : forall x c d, (0 <= d < c)%Z -> ((x * c + d) / c = x)%Z.
Proof. intros x c d H; rewrite Z.div_add_l, (Z.div_small d c) by lia; lia. Qed.

Lemma place_last : forall x c d, (0 <= d < c)%Z -> ((x * c + d) mod c = d)%Z.
Proof. intros x c d H; rewrite Z.add_comm, Z.mod_add, Z.mod_small by lia; reflexivity. Qed.

Lemma place_first : forall a n b c d, (0 <= b < n)%Z -> (0 <= d < c)%Z -> (((a * n + b) * c + d) / (n * c) = a)%Z.
Proof.
  intros a n b c d Hb Hd; rewrite (Z.mul_comm n c), <- Z.div_div by lia.
  rewrite !place_before by assumption; reflexivity.
Qed.

(** Indices of reshaped arrays as what they are. *)
Ltac plain_places :=
  tidy_indices;
  repeat match goal with
  | |- context [(((?a * ?n + ?b) * ?c + ?d) / (?n * ?c))%Z] => rewrite (place_first a n b c d) by assumption
  | |- context [((?x * ?c + ?d) / ?c)%Z] => rewrite (place_before x c d) by assumption
  | |- context [((?x * ?c + ?d) mod ?c)%Z] => rewrite (place_last x c d) by assumption
  end; tidy_indices.

Ltac entries_differ :=
  let K := fresh in intro K;
  match goal with
  | D : forall i j, _ -> _ -> distinct_lt _ _ |- _ =>
      let E := fresh in intro E; eapply (D _ _ ltac:(eassumption) ltac:(eassumption)); [| | exact K |]; [eassumption | eassumption | cbv beta; lra]
  | D : forall i, _ -> distinct_lt _ _ |- _ =>
      let E := fresh in intro E; eapply (D _ ltac:(eassumption)); [| | exact K |]; [eassumption | eassumption | cbv beta; lra]
  end.

Ltac order_is_steady :=
  apply least_steady; intros; apply count_steady; intros;
  eapply first_steady; [solve [derive] | solve [derive] | entries_differ | intros ->; reflexivity].

Ltac same_place := f_equal; first [reflexivity | index_law].

Ltac order_moves :=
  cbv beta; plain_places;
  lazymatch goal with
  | |- is_derive (fun t => ?x ?i (least_lt ?n (@?p t)) ?j + t * ?dx _ _ _) 0 ?d =>
      match d with context [least_lt n ?q] =>
        let N := fresh "N" in
        assert (N : locally 0 (fun t => least_lt n (p t) = least_lt n q)) by (cbv beta; order_is_steady);
        apply (dual_is_derive _ (x i (least_lt n q) j) (dx i (least_lt n q) j));
        [ apply (dual_local (fun t => x i (least_lt n q) j + t * dx i (least_lt n q) j)); [|apply dual_line];
          revert N; apply filter_imp; intros t N; cbv beta in N; rewrite N; reflexivity
        | assert (0 <= least_lt n q < n)%Z by (apply least_range; lia); generalize dependent (least_lt n q); intros ]
      end
  | |- is_derive (fun t => ?x ?i (least_lt ?n (@?p t)) + t * ?dx _ _) 0 ?d =>
      match d with context [least_lt n ?q] =>
        let N := fresh "N" in
        assert (N : locally 0 (fun t => least_lt n (p t) = least_lt n q)) by (cbv beta; order_is_steady);
        apply (dual_is_derive _ (x i (least_lt n q)) (dx i (least_lt n q)));
        [ apply (dual_local (fun t => x i (least_lt n q) + t * dx i (least_lt n q))); [|apply dual_line];
          revert N; apply filter_imp; intros t N; cbv beta in N; rewrite N; reflexivity
        | assert (0 <= least_lt n q < n)%Z by (apply least_range; lia); generalize dependent (least_lt n q); intros ]
      end
  end.

Lemma least_not_below : forall n p, (0 < n)%Z -> (least_lt n p <? 0)%Z = false.
Proof. intros n p H; apply Z.ltb_ge; apply least_range; exact H. Qed.

Lemma least_from_0 : forall n p, (0 < n)%Z -> (0 <=? least_lt n p)%Z = true.
Proof. intros n p H; apply Z.leb_le; apply least_range; exact H. Qed.

Lemma least_below : forall n p, (0 < n)%Z -> (least_lt n p <? n - 1 + 1)%Z = true.
Proof. intros n p H; apply Z.ltb_lt; assert (L := least_range n p H); lia. Qed.

Ltac plain_least :=
  plain_places;
  repeat match goal with
  | |- context [(least_lt ?n ?p <? 0)%Z] => rewrite (least_not_below n p) by lia; cbv iota
  | |- context [(0 <=? least_lt ?n ?p)%Z] => rewrite (least_from_0 n p) by lia
  | |- context [(least_lt ?n ?p <? ?n - 1 + 1)%Z] => rewrite (least_below n p) by lia
  end; cbn [andb]; tidy_indices.

(** Goal [t = ?e]: the same in each sum. *)
Ltac plain_in_sums :=
  cbv beta;
  lazymatch goal with
  | |- sum_lt _ _ = _ => eapply sum_same; [intros ? ?; plain_in_sums | reflexivity]
  | |- ?a * (0 + ?b) = _ => etransitivity; [apply f_equal; etransitivity; [apply Rplus_0_l | plain_in_sums] | reflexivity]
  | |- _ => plain_least; reflexivity
  end.

Ltac order_given_back :=
  etransitivity; [plain_in_sums | symmetry; etransitivity; [plain_in_sums | symmetry]];
  first [ eapply (given_back_3 _ _ _ _ _ _ _ (fun i _ _ => i) _ (fun _ _ h => h))
        | eapply (given_back_2 _ _ _ _ _ (fun i _ => i)) ];
  intros; cbv beta; repeat split; first [lia | (apply least_range; lia)].

(** A printed theorem about sorted entries. *)
Ltac ordered law :=
  lazymatch goal with
  | |- is_derive _ _ _ => order_moves; plain_least; first [reflexivity | (split_places; reflexivity)]
  | |- sum_lt _ _ = _ => order_given_back
  | |- forall _, _ => law
  | |- _ = _ => plain_least; reflexivity
  | |- _ => law
  end.
