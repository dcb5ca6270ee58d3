(** Sums over axes of which indices correspond: slices, pads, strides, concatenations, reversals, gathers.

    Axes that are alike on both sides go first; of the one that remains, sums over index sets that correspond are equal
    ([sum_reindex]), where the correspondence is read off the entries; all else is linear arithmetic over the guards. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions Tactics Derivatives Algebra Laws.
Open Scope R_scope.

(** Something here is divided, or a remainder is taken. *)
Ltac divides :=
  match goal with
  | |- context [Z.div _ _] => idtac
  | |- context [Z.modulo _ _] => idtac
  | _ : context [Z.div _ _] |- _ => idtac
  | _ : context [Z.modulo _ _] |- _ => idtac
  end.

Ltac literal a := lazymatch a with Z0 => idtac | Zpos _ => idtac | Zneg _ => idtac end.

(** Two of which neither is a number are multiplied here. *)
Ltac products :=
  match goal with
  | |- context [(?a * ?b)%Z] => tryif first [literal a | literal b] then fail else idtac
  | _ : context [(?a * ?b)%Z] |- _ => tryif first [literal a | literal b] then fail else idtac
  end.

(** Indices with whole parts of quotients. Where nothing is multiplied, [lia] decides, and [nia] would search in vain. *)
Ltac index_law :=
  first
    [ assumption
    | lia
    | tryif divides then (Z.to_euclidean_division_equations; first [lia | (products; nia)]) else (products; nia) ].

Ltac absurd_index := exfalso; first [contradiction | index_law].

Ltac split_guards :=
  repeat (match goal with |- context [if ?c then _ else _] => decide_bool c end; reduce; try absurd_index).

Ltac same_indices := f_equal; index_law.

(** Entries of one tensor at the same place are one. *)
Ltac unify_entries :=
  repeat match goal with
  | |- context [?x ?a] => is_var x; lazymatch type of a with Z => idtac end;
      match goal with |- context [x ?a'] => tryif constr_eq a a' then fail else replace (x a') with (x a) by same_indices end
  | |- context [?x ?a ?b] => is_var x; lazymatch type of b with Z => idtac end;
      match goal with |- context [x ?a' ?b'] =>
        tryif (constr_eq a a'; constr_eq b b') then fail else replace (x a' b') with (x a b) by same_indices end
  | |- context [?x ?a ?b ?c] => is_var x; lazymatch type of c with Z => idtac end;
      match goal with |- context [x ?a' ?b' ?c'] =>
        tryif (constr_eq a a'; constr_eq b b'; constr_eq c c') then fail
        else replace (x a' b' c') with (x a b c) by same_indices end
  | |- context [?x ?a ?b ?c ?d] => is_var x; lazymatch type of d with Z => idtac end;
      match goal with |- context [x ?a' ?b' ?c' ?d'] =>
        tryif (constr_eq a a'; constr_eq b b'; constr_eq c c'; constr_eq d d') then fail
        else replace (x a' b' c' d') with (x a b c d) by same_indices end
  end.

Ltac entry_law :=
  lazymatch goal with
  | |- sum_lt _ _ = sum_lt _ _ => fail
  | |- _ => first [ reflexivity | ring
                  | split_guards; first [reflexivity | ring | (unify_entries; first [reflexivity | ring | (field; side)])] ]
  end.

(** The index at which [f] reads the tensor that [g] reads at its own index. *)
Ltac read_at f g :=
  constr:(fun i : Z => ltac:(
    let found := constr:(fun j : Z => ltac:(
      let bf := eval cbv beta in (f i) in let bg := eval cbv beta in (g j) in
      match bg with
      | context [?x j] => is_var x; match bf with context [x ?e] => exact e end
      | context [?x j _] => is_var x; match bf with context [x ?e _] => lazymatch type of e with Z => exact e end end
      | context [?x _ j] => is_var x; match bf with context [x _ ?e] => exact e end
      | context [?x j _ _] => is_var x; match bf with context [x ?e _ _] => lazymatch type of e with Z => exact e end end
      | context [?x _ j _] => is_var x; match bf with context [x _ ?e _] => lazymatch type of e with Z => exact e end end
      | context [?x _ _ j] => is_var x; match bf with context [x _ _ ?e] => exact e end
      | context [?x j _ _ _] => is_var x; match bf with context [x ?e _ _ _] => exact e end
      | context [?x _ j _ _] => is_var x; match bf with context [x _ ?e _ _] => exact e end
      | context [?x _ _ j _] => is_var x; match bf with context [x _ _ ?e _] => exact e end
      | context [?x _ _ _ j] => is_var x; match bf with context [x _ _ _ ?e] => exact e end
      end)) in
    let e := eval cbv beta in (found 0%Z) in exact e)).

Ltac correspond :=
  let i := fresh "i" in let H := fresh "H" in
  intros i H; cbv beta; split_guards; intro;
  first [ exfalso; match goal with K : _ <> 0 |- _ => apply K; ring end
        | repeat split; first [index_law | entry_law] ].

Ltac reindexed :=
  lazymatch goal with |- sum_lt ?n ?f = sum_lt ?m ?g =>
    let forth := read_at f g in let back := read_at g f in
    apply (sum_reindex n m f g forth back); correspond
  end.

(** A sum of which every term takes one of the other's. *)
Lemma sum_gather : forall n m f g (G : Z -> Z -> R) (e : Z -> Z),
  (forall k, (0 <= k < m)%Z -> (0 <= e k < n)%Z) ->
  (forall j, (0 <= j < n)%Z -> g j = sum_lt m (G j)) ->
  (forall k j, (0 <= k < m)%Z -> (0 <= j < n)%Z -> j <> e k -> G j k = 0) ->
  (forall k, (0 <= k < m)%Z -> f k = G (e k) k) ->
  sum_lt m f = sum_lt n g.
Proof.
  intros n m f g G e E S Z F.
  transitivity (sum_lt n (fun j => sum_lt m (fun k => G j k))); [|symmetry; apply sum_ext; exact S].
  rewrite sum_comm; apply sum_ext; intros k Hk; rewrite (F k Hk); symmetry.
  apply (sum_single n (e k) (fun j => G j k)); [apply E, Hk|]; intros j Hj N; apply Z; assumption.
Qed.

Ltac pulled := rewrite ?Rplus_0_l, ?Rplus_0_r, <- ?sum_scal_l, <- ?sum_scal_r; apply sum_ext; intros; ring.

Ltac gathered :=
  lazymatch goal with |- sum_lt ?m ?f = sum_lt ?n ?g =>
    let e := read_at f g in
    let G := constr:(fun j : Z => ltac:(
      let b := eval cbv beta in (g j) in
      match b with context [sum_lt ?p ?h] =>
        let q := eval pattern (sum_lt p h) in b in
        lazymatch q with ?q _ => let r := eval cbv beta in (fun k : Z => q (h k)) in exact r end
      end)) in
    apply (sum_gather n m f g G e); cbv beta;
    [ intros; split_guards; index_law
    | intros; pulled
    | intros; split_guards; ring
    | intros; split_guards; entry_law ]
  end.

Lemma sum_one : forall f, sum_lt 1 f = f 0%Z.
Proof. intro f; unfold sum_lt; simpl; ring. Qed.

Lemma sum_next : forall n f, (0 <= n)%Z -> sum_lt (n + 1) f = sum_lt n f + f n.
Proof. intros n f H; rewrite sum_split, sum_one by lia; do 2 f_equal; lia. Qed.

Lemma sum_of_2 : forall f, sum_lt 2 f = f 0%Z + f 1%Z.
Proof. intro f; unfold sum_lt; simpl; ring. Qed.

Lemma sum_of_3 : forall f, sum_lt 3 f = f 0%Z + f 1%Z + f 2%Z.
Proof. intro f; unfold sum_lt; simpl; ring. Qed.

Lemma sum_double : forall n f, (0 <= n)%Z -> sum_lt (2 * n) f = sum_lt n (fun i => f i + f (n + i)%Z).
Proof. intros n f H; replace (2 * n)%Z with (n + n)%Z by lia; rewrite sum_split, <- sum_plus by lia; reflexivity. Qed.

(** A sum whose index a guard fixes. *)
Ltac no_term := repeat (apply sum_all_zero; intros); split_guards; first [reflexivity | ring].

Ltac collapse_at e n F :=
  let E := fresh "E" in
  assert (E : sum_lt n F = F e) by (apply (sum_single n e F); [index_law | intros; no_term]);
  cbv beta in E; rewrite E; clear E.

Ltac collapse :=
  match goal with
  | |- context [sum_lt ?n ?F] => match goal with H : (0 <= ?e < n)%Z |- _ =>
      lazymatch F with context [Z.eqb] => idtac end; collapse_at e n F end
  | |- context [sum_lt ?n (fun i => sum_lt ?m (fun j => @?f i j))] => match goal with H : (0 <= ?e < m)%Z |- _ =>
      lazymatch f with context [Z.eqb] => idtac end; rewrite (sum_comm n m f);
      let F := constr:(fun j => sum_lt n (fun i => f i j)) in let F := eval cbv beta in F in collapse_at e m F end
  end.

Ltac collapse_right :=
  symmetry; eapply sum_same; [intros ? ?; progress (repeat collapse); reflexivity | cbv beta; symmetry].

Ltac axis_law :=
  rewrite ?sum_one, ?sum_of_2, ?sum_of_3; cbv beta;
  first
    [ solve [entry_law]
    | (lazymatch goal with |- sum_lt ?n _ = sum_lt ?n _ => apply sum_ext; intros ? ? end; solve [axis_law])
    | (lazymatch goal with
       | |- sum_lt ?n _ + sum_lt ?n _ = _ => rewrite <- sum_plus
       | |- _ = sum_lt ?n _ + sum_lt ?n _ => rewrite <- sum_plus
       end; solve [axis_law])
    | (lazymatch goal with
       | |- sum_lt (?n + ?m) ?f = _ + _ => rewrite (sum_split n m f) by lia; apply f_equal2
       | |- _ + _ = sum_lt (?n + ?m) ?f => rewrite (sum_split n m f) by lia; apply f_equal2
       end; solve [axis_law])
    | (lazymatch goal with
       | |- sum_lt (2 * ?n) _ = sum_lt ?n _ => rewrite sum_double by lia
       | |- sum_lt ?n _ = sum_lt (2 * ?n) _ => rewrite sum_double by lia
       end; solve [axis_law])
    | solve [reindexed]
    | solve [gathered]
    | solve [symmetry; gathered]
    | (lazymatch goal with |- sum_lt ?n (fun i => sum_lt ?m (fun j => @?f i j)) = sum_lt ?k (fun i => sum_lt ?m (fun j => @?g i j)) =>
         rewrite (sum_comm n m f), (sum_comm k m g); apply sum_ext; intros ? ? end; solve [axis_law])
    | (collapse_right; first [solve [gathered] | solve [axis_law]])
    | (symmetry; collapse_right; first [solve [gathered] | (symmetry; solve [axis_law])]) ].

(** * Two sums over pairs, of which each is at one place of the other's outer range *)

Lemma sum_pairs : forall m n (K H : Z -> Z) (F G : Z -> Z -> R) (e d : Z -> Z -> Z),
  (forall j k, (0 <= j < m)%Z -> (0 <= k < K j)%Z -> F j k <> 0 -> (0 <= e j k < n)%Z) ->
  (forall i h, (0 <= i < n)%Z -> (0 <= h < H i)%Z -> G i h <> 0 -> (0 <= d i h < m)%Z) ->
  (forall i j, (0 <= i < n)%Z -> (0 <= j < m)%Z ->
     sum_lt (K j) (fun k => if (e j k =? i)%Z then F j k else 0) =
     sum_lt (H i) (fun h => if (d i h =? j)%Z then G i h else 0)) ->
  sum_lt m (fun j => sum_lt (K j) (F j)) = sum_lt n (fun i => sum_lt (H i) (G i)).
Proof.
  intros m n K H F G e d Fe Gd E.
  assert (P : forall m n (K : Z -> Z) (F : Z -> Z -> R) (e : Z -> Z -> Z),
    (forall j k, (0 <= j < m)%Z -> (0 <= k < K j)%Z -> F j k <> 0 -> (0 <= e j k < n)%Z) ->
    sum_lt m (fun j => sum_lt (K j) (F j)) =
    sum_lt n (fun i => sum_lt m (fun j => sum_lt (K j) (fun k => if (e j k =? i)%Z then F j k else 0)))).
  { clear; intros m n K F e Fe; rewrite sum_comm; apply sum_ext; intros j Hj; rewrite sum_comm; apply sum_ext; intros k Hk.
    destruct (Req_dec (F j k) 0) as [Z|N].
    - rewrite Z; symmetry; apply sum_all_zero; intros i Hi; destruct (e j k =? i)%Z; reflexivity.
    - rewrite (sum_single n (e j k)) by (first [exact (Fe j k Hj Hk N) | intros i Hi D; destruct (Z.eqb_spec (e j k) i); [lia|reflexivity]]).
      rewrite Z.eqb_refl; reflexivity. }
  rewrite (P m n K F e Fe), (P n m H G d Gd), sum_comm.
  apply sum_ext; intros j Hj; apply sum_ext; intros i Hi; apply E; assumption.
Qed.

(** * Axes that are made of others: sums over products of sizes, quotients and remainders of places *)

Lemma place_div : forall a m j, (0 <= j < m)%Z -> ((a * m + j) / m = a)%Z.
Proof. intros a m j H; rewrite Z.div_add_l, Z.div_small by lia; lia. Qed.

Lemma place_mod : forall a m j, (0 <= j < m)%Z -> ((a * m + j) mod m = j)%Z.
Proof. intros a m j H; rewrite Z.add_comm, Z_mod_plus_full; apply Z.mod_small; exact H. Qed.

Lemma place_div_l : forall a p m j, (0 < p)%Z -> (0 <= j < m)%Z -> ((a * m + j) / (p * m) = a / p)%Z.
Proof. intros a p m j P H; rewrite (Z.mul_comm p m), <- Z.div_div, place_div by lia; reflexivity. Qed.

Lemma place_div_r : forall a p m j, (0 < p)%Z -> (0 <= j < m)%Z -> ((a * m + j) / (m * p) = a / p)%Z.
Proof. intros a p m j P H; rewrite <- Z.div_div, place_div by lia; reflexivity. Qed.

Lemma place_mod_l : forall a p m j, (0 < p)%Z -> (0 <= j < m)%Z -> ((a * m + j) mod (p * m) = (a mod p) * m + j)%Z.
Proof.
  intros a p m j P H; symmetry; apply (Z.mod_unique_pos _ _ (a / p)).
  - assert (K := Z.mod_pos_bound a p P); nia.
  - assert (K := Z.div_mod a p ltac:(lia)); rewrite K at 1; ring.
Qed.

Lemma place_mod_r : forall a p m j, (0 < p)%Z -> (0 <= j < m)%Z -> ((a * m + j) mod (m * p) = (a mod p) * m + j)%Z.
Proof. intros a p m j P H; rewrite (Z.mul_comm m p); apply place_mod_l; assumption. Qed.

Lemma place_join : forall a p m q j, (a * (p * m) + (q * m + j) = (a * p + q) * m + j)%Z.
Proof. intros; ring. Qed.

Lemma place_join_r : forall a p m q j, (a * (m * p) + (q * m + j) = (a * p + q) * m + j)%Z.
Proof. intros; ring. Qed.

Lemma place_range : forall a n p m j, (0 <= a < n)%Z -> (0 <= j < m)%Z -> p = (n * m)%Z -> (0 <= a * m + j < p)%Z.
Proof. intros a n p m j H K ->; nia. Qed.

Lemma place_div_range : forall e d n p, (0 <= e < p)%Z -> (0 < d)%Z -> p = (n * d)%Z -> (0 <= e / d < n)%Z.
Proof. intros e d n p H D ->; split; [apply Z.div_pos; lia|apply Z.div_lt_upper_bound; lia]. Qed.

Ltac product_above := first [lia | apply Z.mul_pos_pos; product_above].
(** Of a place that is neither a product nor beside one [lia] says all, and of a quotient [nia] little. *)
Ltac bounds_of_product :=
  lazymatch goal with
  | |- context [(_ / _)%Z] => fail
  | |- _ => match goal with
      | |- context [(?a * ?b)%Z] => tryif first [literal a | literal b] then fail else idtac
      end
  end.
Ltac in_place :=
  first [ assumption | lia | lazymatch goal with |- (0 <= _ mod ?m < ?m)%Z => apply Z.mod_pos_bound; product_above end
        | bounds_of_product; split; nia ].

(** A product without one of its factors. *)
Ltac without_factor d m :=
  lazymatch d with
  | (?x * ?y)%Z => match d with
      | _ => let _ := match goal with _ => constr_eq y m end in x
      | _ => let _ := match goal with _ => constr_eq x m end in y
      | _ => let r := without_factor x m in constr:((r * y)%Z)
      | _ => let r := without_factor y m in constr:((x * r)%Z)
      end
  end.

(** That places made of digits are in their ranges. *)
Ltac bound e :=
  lazymatch e with
  | (?a * ?m + ?j)%Z => let b := bound a in constr:((b * m)%Z)
  | (?a mod ?m)%Z => m
  | argmax_lt ?n _ => n
  | (?a / ?d)%Z => let p := bound a in without_factor p d
  | _ => match goal with H : (0 <= e < ?n)%Z |- _ => n end
  end.

Ltac quotients_of_products :=
  repeat match goal with
  | |- context [(?a * ?d / ?d)%Z] => rewrite (Z.div_mul a d) by lia
  | |- context [(?d * ?a / ?d)%Z] => rewrite (Z.mul_comm d a), (Z.div_mul a d) by lia
  end.

Ltac place_in_range :=
  first
    [ assumption
    | lazymatch goal with
      | |- (0 <= argmax_lt _ _ < _)%Z => apply argmax_range; product_above
      | |- (0 <= _ mod ?m < ?m)%Z => apply Z.mod_pos_bound; product_above
      | |- (0 <= ?a * ?m + ?j < _)%Z =>
          let n := bound a in apply (place_range a n); [place_in_range | place_in_range | ring]
      | |- (0 <= ?e / ?d < ?n)%Z =>
          let p := bound e in apply (place_div_range e d n p); [place_in_range | product_above | ring]
      end ].

(** Places of entries, as the digits that they are made of. *)
Ltac places :=
  rewrite ?Z.div_1_r, ?Z.mul_1_l, ?Z.mul_1_r, ?Z.add_0_l, ?Z.add_0_r, ?Z.sub_0_r, ?Z.mod_1_r;
  repeat first
    [ rewrite place_join
    | rewrite place_join_r
    | match goal with
      | |- context [((?a * ?m + ?j) / ?m)%Z] => rewrite (place_div a m j) by in_place
      | |- context [((?a * ?m + ?j) mod ?m)%Z] => rewrite (place_mod a m j) by in_place
      | |- context [((?a * ?m + ?j) / ?d)%Z] => let r := without_factor d m in
          replace ((a * m + j) / d)%Z with (a / r)%Z
            by (symmetry; replace d with (r * m)%Z by ring; apply place_div_l; [product_above | in_place])
      | |- context [((?a * ?m + ?j) mod ?d)%Z] => let r := without_factor d m in
          replace ((a * m + j) mod d)%Z with ((a mod r) * m + j)%Z
            by (symmetry; replace d with (r * m)%Z by ring; apply place_mod_l; [product_above | in_place])
      | |- context [(?j / ?m)%Z] => rewrite (Z.div_small j m) by in_place
      | |- context [(?j mod ?m)%Z] => rewrite (Z.mod_small j m) by in_place
      end ];
  rewrite ?Z.div_1_r, ?Z.mul_0_l, ?Z.add_0_l, ?Z.add_0_r.

Lemma sum_range : forall n m f, n = m -> sum_lt n f = sum_lt m f.
Proof. intros n m f ->; reflexivity. Qed.

Ltac not_negative := first [lia | apply Z.lt_le_incl; product_above].

(** Goal [t = ?e]: sums over products of sizes as sums over each, of two factors the first outside or the second. *)
Ltac flat swapped :=
  cbv beta;
  lazymatch goal with
  | |- sum_lt (?n * ?m)%Z ?f = _ =>
      lazymatch swapped with
      | false => etransitivity; [apply (sum_flatten n m f); not_negative | flat swapped]
      | true => etransitivity; [apply (sum_range (n * m) (m * n) f); ring |];
                etransitivity; [apply (sum_flatten m n f); not_negative | flat swapped]
      end
  | |- sum_lt _ _ = _ => eapply sum_same; [intros ? ?; flat swapped | reflexivity]
  | |- ?t = _ =>
      lazymatch t with
      | context [sum_lt] =>
          lazymatch t with
          | ?a + ?b => etransitivity; [apply f_equal2; flat swapped | reflexivity]
          | ?a * ?b => etransitivity; [apply f_equal2; flat swapped | reflexivity]
          | ?a / ?b => etransitivity; [apply (f_equal (fun z => z / b)); flat swapped | reflexivity]
          | _ => reflexivity
          end
      | _ => reflexivity
      end
  end.

(** A range that is the product of those on the other side, in their order. *)
Ltac as_product p := etransitivity; [refine (sum_range _ p _ _); ring |].
Ltac like_the_other :=
  lazymatch goal with
  | |- sum_lt (?a * ?b)%Z _ = ?e => first
      [ lazymatch e with sum_lt ?n (fun i => sum_lt ?m (fun j => sum_lt ?p (fun k => sum_lt ?q (fun l => sum_lt ?r (fun o => sum_lt ?s (fun u => _)))))) =>
          as_product (n * m * p * q * r * s)%Z end
      | lazymatch e with sum_lt ?n (fun i => sum_lt ?m (fun j => sum_lt ?p (fun k => sum_lt ?q (fun l => sum_lt ?r (fun o => _))))) =>
          as_product (n * m * p * q * r)%Z end
      | lazymatch e with sum_lt ?n (fun i => sum_lt ?m (fun j => sum_lt ?p (fun k => sum_lt ?q (fun l => _)))) =>
          as_product (n * m * p * q)%Z end
      | lazymatch e with sum_lt ?n (fun i => sum_lt ?m (fun j => sum_lt ?p (fun k => _))) => as_product (n * m * p)%Z end
      | lazymatch e with sum_lt ?n (fun i => sum_lt ?m (fun j => _)) => as_product (n * m)%Z end ]
  end.

Ltac in_order :=
  repeat (same_range; apply sum_ext; intros ? ?; cbv beta);
  first [like_the_other | symmetry; like_the_other | idtac].

Ltac place_law :=
  cbv beta; places;
  first [ reflexivity | ring | solve [unfold Rdiv; ring] | (unify_entries; first [reflexivity | ring | (unfold Rdiv; ring)])
        | solve [split_guards; first [reflexivity | ring | (unify_entries; first [reflexivity | ring])]] ].

Ltac both_flat swapped := etransitivity; [flat swapped | symmetry; etransitivity; [flat swapped | symmetry]].

Ltac places_equal_by swapped :=
  both_flat swapped; rewrite ?sum_one; both_merged; in_some_order ltac:(place_law).

Ltac places_equal :=
  in_order; first [solve [places_equal_by false] | solve [places_equal_by true]].

(** Where a tensor that is read at the outer index of one sum is read inside the other. *)
Ltac read_inside f g :=
  constr:(fun out_f in_f : Z => ltac:(
    let found := constr:(fun out_g in_g : Z => ltac:(
      let bf := eval cbv beta in (f out_f in_f) in let bg := eval cbv beta in (g out_g in_g) in
      match bg with
      | context [?x out_g] => is_var x; match bf with context [x ?e] => exact e end
      | context [?x out_g _] => is_var x; match bf with context [x ?e _] => lazymatch type of e with Z => exact e end end
      | context [?x _ out_g] => is_var x; match bf with context [x _ ?e] => exact e end
      | context [?x out_g _ _] => is_var x; match bf with context [x ?e _ _] => lazymatch type of e with Z => exact e end end
      | context [?x _ out_g _] => is_var x; match bf with context [x _ ?e _] => lazymatch type of e with Z => exact e end end
      | context [?x _ _ out_g] => is_var x; match bf with context [x _ _ ?e] => exact e end
      | context [?x _ _ out_g _] => is_var x; match bf with context [x _ _ ?e _] => exact e end
      | context [?x _ _ _ out_g] => is_var x; match bf with context [x _ _ _ ?e] => exact e end
      end)) in
    let e := eval cbv beta in (found 0%Z 0%Z) in exact e)).

(** Terms of the two inner sums correspond: in the opposite order, or where the two places say. *)
Ltac inner_reindexed e d i j :=
  lazymatch goal with |- sum_lt ?n ?f = sum_lt ?m ?g => first
    [ solve [apply (sum_reindex n m f g (fun k => (m - 1 - k)%Z) (fun h => (n - 1 - h)%Z)); correspond]
    | solve [apply (sum_reindex n m f g (fun _ => (j - d i 0)%Z) (fun _ => (i - e j 0)%Z)); cbv beta; correspond]
    | solve [apply (sum_reindex n m f g (fun _ => j) (fun _ => (i - e j 0)%Z)); cbv beta; correspond]
    | solve [apply (sum_reindex n m f g (fun _ => (j - d i 0)%Z) (fun _ => i)); cbv beta; correspond] ]
  end.

Ltac outside_inside :=
  cbv beta;
  lazymatch goal with
  | |- sum_lt ?m (fun j => sum_lt (@?K j) (fun k => @?L j k)) = sum_lt ?n (fun i => sum_lt (@?H i) (fun h => @?R i h)) =>
      let e := read_inside L R in let d := read_inside R L in
      apply (sum_pairs m n K H L R e d); cbv beta;
      [ intros ? ? ? ?; split_guards; intro; first [index_law | exfalso; match goal with N : _ <> 0 |- _ => apply N; ring end]
      | intros ? ? ? ?; split_guards; intro; first [index_law | exfalso; match goal with N : _ <> 0 |- _ => apply N; ring end]
      | let i := fresh "i" in let j := fresh "j" in intros i j ? ?; inner_reindexed e d i j ]
  end.

Ltac tidy := rewrite ?Z.mul_1_l, ?Z.mul_1_r.

Ltac pairs_law :=
  cbv beta;
  first
    [ solve [outside_inside]
    | lazymatch goal with |- sum_lt ?n (fun i => sum_lt ?m (fun j => @?f i j)) = sum_lt ?k (fun i => sum_lt ?m (fun j => @?g i j)) =>
        rewrite (sum_comm n m f), (sum_comm k m g); apply sum_ext; intros ? ?; solve [pairs_law] end
    | same_range; apply sum_ext; intros ? ?; solve [pairs_law] ].

(** Sums in front, of both sides. *)
Ltac both_prenex := etransitivity; [prenex | symmetry; etransitivity; [prenex | symmetry]].

Ltac axes :=
  first [ solve [axis_law] | both_prenex; solve [axis_law] | solve [both_merged; tidy; pairs_law] ].

Ltac axes_and_places :=
  lazymatch goal with |- context [Z.div] => first [ solve [places_equal] | axes ] | |- _ => axes end.

(** Axes that are alike on both sides first, then sums of which indicators leave one term. *)
Ltac under_axes := same_range; apply sum_ext; intros ? ?; cbv beta; hypotheses; first [solve [sums_equal] | under_axes].

(** The adjoint law: axes first where guards speak of indices. *)
Ltac adjoint :=
  cbv beta; hypotheses;
  lazymatch goal with
  | |- context [Z.div] => first [ solve [axes_and_places] | solve [Laws.adjoint] ]
  | |- context [Z.eqb] => first [ solve [axes_and_places] | solve [Laws.adjoint] | both_merged; solve [under_axes] ]
  | |- context [Z.ltb] => first [ solve [axes_and_places] | solve [Laws.adjoint] ]
  | |- context [Z.leb] => first [ solve [axes_and_places] | solve [Laws.adjoint] ]
  | |- _ => first [ solve [Laws.adjoint] | solve [axes] ]
  end.

(** Two programs with one value: also where their sums run over axes in other ways. *)
Ltac same_value := cbv beta; hypotheses; first [ solve [Laws.same_value] | solve [axes] ].
