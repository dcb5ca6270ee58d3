(** Adjoint laws of composed programs. What does not depend on what moves is held: a name of which nothing is known, the
    same name in all programs. What remains is linear in the tangents and in the seeds; both sides are brought to sums
    of monomials with all sums in front, and those of one side are found on the other. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions Tactics Derivatives Algebra Laws Axes Labels.
Open Scope R_scope.

(** * Values that are held *)

(** Marks a tensor that a law is linear in. *)
Definition moving {A : Type} (_ : A) : Prop := True.

Ltac moves t := match goal with _ : moving ?w |- _ => lazymatch t with context [w] => idtac end end.

Ltac mark names :=
  lazymatch names with
  | (?rest, ?x) => mark rest; mark x
  | ?x => assert (moving x) by exact I
  end.

(** Whether a value is given its own name: where its entries are sums or values of functions. A maximum that keeps
    exponentials small has none, nor what depends on it, down to a quotient of exponentials. *)
Ltac worth_a_name A :=
  lazymatch type of A with
  | Z -> _ => let a := eval cbv beta in (A 0%Z) in worth_a_name a
  | R =>
      lazymatch A with
      | ?a / _ => lazymatch a with context [max_lt] => idtac | context [max_where] => idtac end
      | context [max_lt] => fail
      | context [max_where] => fail
      | _ + _ => fail
      | _ - _ => fail
      | _ * _ => fail
      | - _ => fail
      | _ ^ _ => fail
      | IZR _ => fail
      | if _ then IZR _ else IZR _ => fail
      | sqrt (IZR _) => fail
      | _ => tryif is_entry A then fail else idtac
      end
  end.

Ltac named A k :=
  match goal with
  | v := ?B |- _ => constr_eq A B; k v
  | _ => let v := fresh "held" in pose (v := A); k v
  end.

Ltac lets t k :=
  lazymatch t with
  | let x := ?A in @?B x =>
      tryif moves A then (let t' := eval cbv beta in (B A) in lets t' k)
      else tryif worth_a_name A then named A ltac:(fun v => let t' := eval cbv beta in (B v) in lets t' k)
      else (let t' := eval cbv beta in (B A) in lets t' k)
  | _ => k t
  end.

Ltac name_values :=
  repeat match goal with |- context [let x := ?A in @?B x] =>
    let t := constr:(let x := A in B x) in
    let t := eval cbv beta in t in
    lets t ltac:(fun t' => change t with t'); cbv beta
  end.

(** At least one value is held. *)
Ltac hold_values :=
  name_values;
  match goal with v := _ |- _ => clearbody v end; repeat match goal with v := _ |- _ => clearbody v end.

(** * Sums of monomials *)

Lemma opp_as_product : forall a, - a = -1 * a.
Proof. intros; ring. Qed.

Lemma difference : forall a b, a - b = a + - b.
Proof. reflexivity. Qed.

Lemma quotient : forall a b, a / b = / b * a.
Proof. intros; unfold Rdiv; ring. Qed.

Lemma choice : forall (c : bool) a b, (if c then a else b) = ind c * a + ind (negb c) * b.
Proof. intros [] a b; unfold ind; simpl; ring. Qed.

Lemma twice_product : forall a b, 2 * a * b = a * b + a * b.
Proof. intros; ring. Qed.

(** What is taken apart. *)
Ltac apart_ t := first [ lazymatch t with context [sum_lt] => idtac end | moves t ].

(** Goal [A * B = ?e], both sums of monomials. *)
Ltac product_of_sums :=
  cbv beta;
  lazymatch goal with
  | |- (?a + ?b) * ?c = _ =>
      tryif apart_ (a + b) then
        etransitivity; [apply Rmult_plus_distr_r | eapply (f_equal2 Rplus); product_of_sums]
      else product_right
  | |- _ => product_right
  end
with product_right :=
  lazymatch goal with
  | |- ?c * (?a + ?b) = _ =>
      tryif apart_ (a + b) then
        etransitivity; [apply Rmult_plus_distr_l | eapply (f_equal2 Rplus); product_of_sums]
      else reflexivity
  | |- sum_lt ?n ?f * ?c = _ =>
      etransitivity; [symmetry; apply sum_scal_r | eapply sum_same; [intros ? ?; product_of_sums | reflexivity]]
  | |- ?c * sum_lt ?n ?f = _ =>
      etransitivity; [symmetry; apply sum_scal_l | eapply sum_same; [intros ? ?; product_of_sums | reflexivity]]
  | |- _ => reflexivity
  end.

Ltac sum_of_sums :=
  cbv beta;
  lazymatch goal with
  | |- sum_lt ?n (fun i => _ + _) = _ => etransitivity; [apply sum_plus | eapply (f_equal2 Rplus); sum_of_sums]
  | |- _ => reflexivity
  end.

(** Goal [t = ?e]. *)
Ltac monomials :=
  cbv beta;
  lazymatch goal with |- ?t = _ =>
    tryif apart_ t then
      lazymatch t with
      | sum_lt 1%Z ?f => etransitivity; [apply (sum_one f) | monomials]
      | sum_lt _ _ => eapply sum_same; [intros ? ?; monomials | sum_of_sums]
      | 0 + ?a => etransitivity; [apply Rplus_0_l | monomials]
      | ?a + 0 => etransitivity; [apply Rplus_0_r | monomials]
      | ?a + ?b => eapply (f_equal2 Rplus); monomials
      | ?a - ?b => etransitivity; [apply (difference a b) | monomials]
      | - ?a => etransitivity; [apply opp_as_product | monomials]
      | 2 * ?a * ?b => etransitivity; [apply (twice_product a b) | monomials]
      | ?a * ?b => etransitivity; [eapply (f_equal2 Rmult); monomials | product_of_sums]
      | ?a / ?b => etransitivity; [apply quotient | monomials]
      | if ?c then ?a else 0 => etransitivity; [apply (if_ind_0 c a) | monomials]
      | if ?c then ?a else ?b => etransitivity; [apply (choice c a b) | monomials]
      | _ => reflexivity
      end
    else reflexivity
  end.

(** * Monomials found on the other side *)

(** Whether [w] is read in one of two terms and not in the other; and so at the index [i]. *)
Ltac in_one w a b :=
  lazymatch a with
  | context [w] => lazymatch b with context [w] => fail | _ => idtac end
  | _ => lazymatch b with context [w] => idtac | _ => fail end
  end.

Ltac differ_at p q := lazymatch constr:((p, q)) with (true, true) => fail | (false, false) => fail | _ => idtac end.

Ltac in_one_at w i a b :=
  lazymatch type of w with
  | Z -> Z -> Z -> Z -> Z -> _ => fail
  | Z -> Z -> Z -> Z -> _ => first
      [ let p := lazymatch a with context [w i _ _ _] => true | _ => false end in
        let q := lazymatch b with context [w i _ _ _] => true | _ => false end in differ_at p q
      | let p := lazymatch a with context [w _ i _ _] => true | _ => false end in
        let q := lazymatch b with context [w _ i _ _] => true | _ => false end in differ_at p q
      | let p := lazymatch a with context [w _ _ i _] => true | _ => false end in
        let q := lazymatch b with context [w _ _ i _] => true | _ => false end in differ_at p q
      | let p := lazymatch a with context [w _ _ _ i] => true | _ => false end in
        let q := lazymatch b with context [w _ _ _ i] => true | _ => false end in differ_at p q ]
  | Z -> Z -> Z -> _ => first
      [ let p := lazymatch a with context [w i _ _] => true | _ => false end in
        let q := lazymatch b with context [w i _ _] => true | _ => false end in differ_at p q
      | let p := lazymatch a with context [w _ i _] => true | _ => false end in
        let q := lazymatch b with context [w _ i _] => true | _ => false end in differ_at p q
      | let p := lazymatch a with context [w _ _ i] => true | _ => false end in
        let q := lazymatch b with context [w _ _ i] => true | _ => false end in differ_at p q ]
  | Z -> Z -> _ => first
      [ let p := lazymatch a with context [w i _] => true | _ => false end in
        let q := lazymatch b with context [w i _] => true | _ => false end in differ_at p q
      | let p := lazymatch a with context [w _ i] => true | _ => false end in
        let q := lazymatch b with context [w _ i] => true | _ => false end in differ_at p q ]
  | Z -> _ =>
      let p := lazymatch a with context [w i] => true | _ => false end in
      let q := lazymatch b with context [w i] => true | _ => false end in differ_at p q
  end.

Ltac same_tensors a b := tryif (match goal with w : _ -> _ |- _ => in_one w a b end) then fail else idtac.

Ltac monomial_leaf :=
  first [ reflexivity | solve [unfold Rdiv; ring] | solve [unfold ind, Rdiv; ring]
        | lazymatch goal with |- context [if _ then _ else _] => solve [unfold ind, Rdiv; split_cases; ring] end ].

(** An equation of monomials: in each order of summation in which indices stand at the same places. *)
Ltac range_at k e :=
  lazymatch e with
  | sum_lt ?a ?f =>
      lazymatch k with
      | 1%nat => a
      | S ?k' => let b := eval cbv beta in (f 0%Z) in range_at k' b
      end
  end.

(** Goal [t = ?e]: the k-th of the sums in front before the others. *)
Ltac bring k :=
  cbv beta;
  lazymatch k with
  | 1%nat => reflexivity
  | S ?k' =>
      etransitivity; [eapply sum_same; [intros ? ?; bring k' | reflexivity] | cbv beta];
      lazymatch goal with |- sum_lt ?a (fun i => sum_lt ?b (fun j => @?F i j)) = _ => apply (sum_comm a b F) end
  end.

(** The term behind the first k sums of [e] where the k-th index is [i]. *)
Ltac behind k e i :=
  lazymatch e with
  | sum_lt _ ?f =>
      lazymatch k with
      | 1%nat => eval cbv beta in (f i)
      | S ?k' => let b := eval cbv beta in (f 0%Z) in behind k' b i
      end
  end.

(** The index of [f] stands at the same places as the k-th of [e]; [i] is any number that stands in neither. It is told
    before the sums are exchanged, which takes longer. *)
Ltac same_role f k e i :=
  let a := eval cbv beta in (f i) in
  let b := behind k e i in
  tryif (match goal with w : _ -> _ |- _ => in_one_at w i a b end) then fail else idtac.

Ltac next_index n f k e i :=
  let m := range_at k e in constr_eq m n;
  same_role f k e i;
  eapply eq_trans; [ | apply eq_sym; bring k ];
  cbv beta; apply sum_ext; let j := fresh "i" in intros j ?; cbv beta.

Ltac in_some_role i :=
  lazymatch goal with
  | |- sum_lt ?n ?f = ?e => some_index n f 1%nat e i
  | |- ?t = ?e => lazymatch e with sum_lt _ _ => fail | _ => idtac end; monomial_leaf
  end
with some_index n f k e i :=
  let m := range_at k e in
  first [ next_index n f k e i; in_some_role i | some_index n f (S k) e i ].

(** As many sums stand in front of one as of the other. *)
Ltac as_many_sums a b :=
  lazymatch a with
  | sum_lt _ ?f =>
      lazymatch b with
      | sum_lt _ ?g => let a' := eval cbv beta in (f 0%Z) in let b' := eval cbv beta in (g 0%Z) in as_many_sums a' b'
      end
  | _ => lazymatch b with sum_lt _ _ => fail | _ => idtac end
  end.

Ltac found :=
  change sum_done with sum_lt;
  lazymatch goal with |- ?a = ?b => as_many_sums a b end;
  let i := fresh "i" in assert (i : Z) by exact 0%Z; solve [in_some_role i].

(** Each sum with those that are left, once. *)
Ltac match_monomials :=
  repeat match goal with
  | |- context [sum_lt ?n ?f] =>
      repeat match goal with |- context [sum_lt ?m ?g] =>
        tryif constr_eq f g then fail else
          same_tensors g f;
          let E := fresh "E" in
          assert (E : sum_lt m g = sum_lt n f) by found; rewrite E; clear E
      end;
      change (sum_lt n f) with (sum_done n f)
  end;
  change sum_done with sum_lt.

Ltac bilinear :=
  etransitivity; [monomials | symmetry; etransitivity; [monomials | symmetry]];
  match_monomials; first [solve [ring] | (one_terms; match_monomials; solve [ring | field; side])].

(** The adjoint law; [names] are the tangents and seeds. *)
Ltac composed_adjoint names :=
  lazymatch goal with |- _ = _ :> R => idtac end;
  mark names; cbv beta; hold_values; bilinear.

(** The same where nothing is held. *)
Ltac plain_adjoint names :=
  lazymatch goal with |- _ = _ :> R => idtac end;
  mark names; cbv beta; bilinear.
