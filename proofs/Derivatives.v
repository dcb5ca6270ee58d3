(** Derivatives along curves by the form of the function, across seams, and what is asked of values. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Products Maxima Functions Tactics.
Open Scope R_scope.

(** Where nothing is, anything holds. *)
Lemma dual_of_nothing : forall f, False -> dual f 0 0.
Proof. intros f []. Qed.

Ltac dual_step :=
  lazymatch goal with
  | |- dual (fun _ => ?c) _ _ => apply (dual_const c)
  | H : dual (fun t => ?x t) _ _ |- dual (fun t => ?x t) _ _ => apply H
  | H : forall i : Z, dual (fun t => ?x t i) _ _ |- dual (fun t => ?x t _) _ _ => apply H
  | H : forall i j : Z, dual (fun t => ?x t i j) _ _ |- dual (fun t => ?x t _ _) _ _ => apply H
  | H : forall i j k : Z, dual (fun t => ?x t i j k) _ _ |- dual (fun t => ?x t _ _ _) _ _ => apply H
  | H : forall i j k l : Z, dual (fun t => ?x t i j k l) _ _ |- dual (fun t => ?x t _ _ _ _) _ _ => apply H
  | H : forall i j k l m : Z, dual (fun t => ?x t i j k l m) _ _ |- dual (fun t => ?x t _ _ _ _ _) _ _ => apply H
  | |- dual (fun t => @?f t + @?g t) _ _ =>
      lazymatch f with
      | fun _ => ?a => lazymatch g with fun t => t * @?h t => lazymatch h with fun _ => ?b => apply (dual_line a b) end
                       | _ => eapply (dual_const_plus g a) end
      | _ => lazymatch g with fun _ => ?b => eapply (dual_plus_const f b) | _ => eapply (dual_plus f g) end
      end
  | |- dual (fun t => @?f t - @?g t) _ _ =>
      lazymatch f with
      | fun _ => ?a => eapply (dual_const_minus g a)
      | _ => lazymatch g with fun _ => ?b => eapply (dual_minus_const f b) | _ => eapply (dual_minus f g) end
      end
  | |- dual (fun t => @?f t * @?g t) _ _ =>
      lazymatch f with
      | fun _ => ?a => eapply (dual_scal_l g a)
      | _ => lazymatch g with fun _ => ?b => eapply (dual_scal_r f b) | _ => eapply (dual_mult f g) end
      end
  | |- dual (fun t => @?f t / @?g t) _ _ =>
      lazymatch g with
      | fun _ => ?b => eapply (dual_div_const f b)
      | _ => lazymatch f with fun _ => ?a => eapply (dual_const_div g a) | _ => eapply (dual_div f g) end
      end
  | |- dual (fun t => - @?f t) _ _ => eapply (dual_opp f)
  | |- dual (fun t => / @?f t) _ _ => eapply (dual_inv f)
  | |- dual (fun t => (@?f t) ^ (@?n t)) _ _ => eapply (dual_pow f)
  | |- dual (fun t => exp (@?f t)) _ _ => eapply (dual_exp f)
  | |- dual (fun t => ln (@?f t)) _ _ => eapply (dual_ln f)
  | |- dual (fun t => sqrt (@?f t)) _ _ => eapply (dual_sqrt f)
  | |- dual (fun t => sin (@?f t)) _ _ => eapply (dual_sin f)
  | |- dual (fun t => cos (@?f t)) _ _ => eapply (dual_cos f)
  | |- dual (fun t => tan (@?f t)) _ _ => eapply (dual_tan f)
  | |- dual (fun t => sinh (@?f t)) _ _ => eapply (dual_sinh f)
  | |- dual (fun t => cosh (@?f t)) _ _ => eapply (dual_cosh f)
  | |- dual (fun t => tanh (@?f t)) _ _ => eapply (dual_tanh f)
  | |- dual (fun t => atan (@?f t)) _ _ => eapply (dual_atan f)
  | |- dual (fun t => asin (@?f t)) _ _ => eapply (dual_asin f)
  | |- dual (fun t => acos (@?f t)) _ _ => eapply (dual_acos f)
  | |- dual (fun t => asinh (@?f t)) _ _ => eapply (dual_asinh f)
  | |- dual (fun t => acosh (@?f t)) _ _ => eapply (dual_acosh f)
  | |- dual (fun t => atanh (@?f t)) _ _ => eapply (dual_atanh f)
  | |- dual (fun t => cbrt (@?f t)) _ _ => eapply (dual_cbrt f)
  | |- dual (fun t => erf (@?f t)) _ _ => eapply (dual_erf f)
  | |- dual (fun t => rpow (@?f t) (@?g t)) _ _ => eapply (dual_rpow f g)
  | H : forall x : R, _ -> is_derive ?h x _ |- dual (fun t => ?h (@?f t)) _ _ => eapply (dual_chain h f); [ | eapply H]
  | H : forall (n : Z) (x : R), _ -> _ -> is_derive (?h (IZR n)) x _ |- dual (fun t => ?h (IZR ?k) (@?f t)) _ _ =>
      let m := eval cbv in (k + 1)%Z in
      eapply (dual_chain (h (IZR k)) f _ _ (h (IZR m) _)); [ | eapply (H k)]
  | H : forall a x : R, _ -> _ -> differentiable_pt_lim ?h a x _ _ |- dual (fun t => ?h (@?f t) (@?g t)) _ _ =>
      eapply (dual_2d h f g); [ | | eapply H]
  | H : forall x : R, is_derive (fun y => exp (Rabs y) * ?h y) x _ |- dual (fun t => ?h (@?f t)) _ _ =>
      eapply (dual_chain h f); [ | apply is_derive_unscaled; [ | eapply H]]
  | H : forall x : R, _ -> is_derive (fun y => exp (Rabs y) * ?h y) x _ |- dual (fun t => ?h (@?f t)) _ _ =>
      eapply (dual_chain h f); [ | apply is_derive_unscaled; [ | eapply H]]
  | |- dual (fun t => atan2 (@?f t) (@?g t)) _ _ => eapply (dual_atan2 f g)
  | |- dual (fun t => sum_lt (@?n t) (@?f t)) _ _ => eapply (dual_sum _ f)
  | |- dual (fun t => prod_lt (@?n t) (@?f t)) _ _ => eapply (dual_prod _ f)
  | |- dual (fun t => Rmax (@?f t) (@?g t)) _ _ => eapply (dual_Rmax f g)
  | |- dual (fun t => Rmin (@?f t) (@?g t)) _ _ => eapply (dual_Rmin f g)
  | |- dual (fun t => Rabs (@?f t)) _ _ => eapply (dual_Rabs f)
  | |- dual (fun t => IZR (@?z t)) _ _ => eapply (dual_IZR z)
  | |- dual (fun t => if @?c t then @?f t else @?g t) _ _ =>
      lazymatch c with
      | fun _ => ?c0 => eapply (dual_if_fixed c0 f g)
      | fun t => Rltb (@?p t) (@?q t) => eapply (dual_if_lt p q f g)
      | fun t => Rleb (@?p t) (@?q t) => eapply (dual_if_le p q f g)
      | fun t => Reqb (@?p t) (@?q t) => eapply (dual_if_eq p q f g)
      | fun t => andb (@?p t) (@?q t) => apply (dual_if_and p q f g)
      | fun t => orb (@?p t) (@?q t) => apply (dual_if_or p q f g)
      | fun t => negb (@?p t) => apply (dual_if_not p f g)
      | _ => eapply (dual_if_steady c)
      end
  | |- steady (fun _ => ?c) _ => apply (steady_const _ c)
  | |- steady (fun t => floor (@?f t)) _ => eapply (steady_floor f)
  | |- steady (fun t => trunc (@?f t)) _ => eapply (steady_trunc f)
  | |- steady (fun t => Rltb (@?f t) (@?g t)) _ => eapply (steady_Rltb f g)
  | |- steady (fun t => Rleb (@?f t) (@?g t)) _ => eapply (steady_Rleb f g)
  | |- steady (fun t => Reqb (@?f t) (@?g t)) _ => eapply (steady_Reqb f g)
  | |- steady (fun t => if @?c t then @?f t else @?g t) _ =>
      eapply (steady_if _ c f g)
  | |- steady (fun t => Z.add (@?f t) (@?g t)) _ => eapply (steady_map2 _ _ _ Z.add f g)
  | |- steady (fun t => Z.sub (@?f t) (@?g t)) _ => eapply (steady_map2 _ _ _ Z.sub f g)
  | |- steady (fun t => Z.mul (@?f t) (@?g t)) _ => eapply (steady_map2 _ _ _ Z.mul f g)
  | |- steady (fun t => Z.div (@?f t) (@?g t)) _ => eapply (steady_map2 _ _ _ Z.div f g)
  | |- steady (fun t => Z.modulo (@?f t) (@?g t)) _ => eapply (steady_map2 _ _ _ Z.modulo f g)
  | |- steady (fun t => Z.eqb (@?f t) (@?g t)) _ => eapply (steady_map2 _ _ _ Z.eqb f g)
  | |- steady (fun t => Z.ltb (@?f t) (@?g t)) _ => eapply (steady_map2 _ _ _ Z.ltb f g)
  | |- steady (fun t => Z.leb (@?f t) (@?g t)) _ => eapply (steady_map2 _ _ _ Z.leb f g)
  | |- steady (fun t => andb (@?f t) (@?g t)) _ => eapply (steady_map2 _ _ _ andb f g)
  | |- steady (fun t => orb (@?f t) (@?g t)) _ => eapply (steady_map2 _ _ _ orb f g)
  | |- steady (fun t => negb (@?f t)) _ => eapply (steady_map _ _ negb f)
  | |- steady (fun t => Z.opp (@?f t)) _ => eapply (steady_map _ _ Z.opp f)
  end.

(** At a seam: it is excluded, or both branches agree there. *)
Ltac zeros := rewrite ?Ropp_0, ?Rmult_0_r, ?Rmult_0_l, ?Rminus_0_r, ?Rplus_0_l, ?Rplus_0_r.

(** Functions at arguments that come to 0. *)
Ltac arguments_0 :=
  repeat match goal with
  | |- context [exp ?a] => replace a with 0 by first [ring | (field; side)]; rewrite exp_0
  end.

Ltac split_or := repeat match goal with H : _ \/ _ |- _ => destruct H end.

(** What is said to be 0, or to differ from 0, and is not, or does not. *)
Ltac absurd_zero :=
  match goal with
  | H : ?a <> ?b |- False => apply H; lra
  | H : / ?a = 0 |- False => revert H; apply Rinv_neq_0_compat; apart
  | H : _ * _ = 0 |- False => destruct (Rmult_integral _ _ H); clear H; absurd_zero
  end.

Ltac at_seam E :=
  first [ solve [substituted E]
        | solve [equation]
        | solve [split_cases; first [exfalso; absurd_zero | equation]]
        | rewrite ?E; zeros; values; solve [equation]
        | rewrite <- ?E; zeros; values; solve [equation]
        | rewrite ?E; arguments_0; solve [equation]
        | rewrite <- ?E; arguments_0; solve [equation]
        | split_unequal; solve [nra] ].

(** Comparisons that another one decides. *)
Lemma dual_decided_lt : forall p q f g f' g' v d,
  (forall t, p t < q t -> f t = f' t) -> (forall t, q t <= p t -> g t = g' t) ->
  dual (fun t => if Rltb (p t) (q t) then f' t else g' t) v d ->
  dual (fun t => if Rltb (p t) (q t) then f t else g t) v d.
Proof.
  intros p q f g f' g' v d F G; apply dual_ext; intro t; destruct (Rltb_spec (p t) (q t)); symmetry; [apply F|apply G]; lra.
Qed.

Lemma dual_decided_le : forall p q f g f' g' v d,
  (forall t, p t <= q t -> f t = f' t) -> (forall t, q t < p t -> g t = g' t) ->
  dual (fun t => if Rleb (p t) (q t) then f' t else g' t) v d ->
  dual (fun t => if Rleb (p t) (q t) then f t else g t) v d.
Proof.
  intros p q f g f' g' v d F G; apply dual_ext; intro t; destruct (Rleb_spec (p t) (q t)); symmetry; [apply F|apply G]; lra.
Qed.

Ltac decided :=
  cbv beta;
  repeat (match goal with
          | |- context [Rltb ?a ?b] => first [rewrite (Rltb_true a b) by lra | rewrite (Rltb_false a b) by lra]
          | |- context [Rleb ?a ?b] => first [rewrite (Rleb_true a b) by lra | rewrite (Rleb_false a b) by lra]
          end; cbn [andb orb negb]; cbv iota);
  reflexivity.

Ltac innermost p :=
  lazymatch p with context [Rltb] => fail | context [Rleb] => fail | context [Reqb] => fail | _ => idtac end.

(** The first comparison that moves, of those in which no other stands, decides between two functions without it. *)
Ltac hoist :=
  first [hoist_same | hoist_other]
with hoist_same :=
  lazymatch goal with |- dual ?f _ _ =>
    let c := constr:(fun t : R => ltac:(
      let b := eval cbv beta in (f t) in match b with context [Reqb ?p ?p] => exact (Reqb p p) end)) in
    let g := constr:(fun t : R => ltac:(
      let b := eval cbv beta in (f t) in let d := eval cbv beta in (c t) in
      let p := eval pattern d in b in
      lazymatch p with ?q _ => let x := eval cbv beta iota delta [andb orb negb] in (q true) in exact x end)) in
    apply (dual_ext g);
    [ let t := fresh in intro t; cbv beta; let d := eval cbv beta in (c t) in
      replace d with true by (symmetry; apply Reqb_true; reflexivity); reflexivity
    | cbv beta ]
  end
with hoist_other :=
  lazymatch goal with |- dual ?f _ _ =>
    let c := constr:(fun t : R => ltac:(
      let b := eval cbv beta in (f t) in
      match b with
      | context [Rltb ?p ?q] => lazymatch constr:((p, q)) with context [t] => innermost p; innermost q end; exact (Rltb p q)
      | context [Rleb ?p ?q] => lazymatch constr:((p, q)) with context [t] => innermost p; innermost q end; exact (Rleb p q)
      | context [Reqb ?p ?q] => lazymatch constr:((p, q)) with context [t] => innermost p; innermost q end; exact (Reqb p q)
      end)) in
    let g := constr:(fun t : R => ltac:(
      let b := eval cbv beta in (f t) in let d := eval cbv beta in (c t) in
      let p := eval pattern d in b in
      lazymatch p with ?q _ =>
        let x := eval cbv beta iota delta [andb orb negb] in (q true) in
        let y := eval cbv beta iota delta [andb orb negb] in (q false) in
        exact (if d then x else y) end)) in
    apply (dual_ext g); [let t := fresh in intro t; cbv beta; destruct (c t); reflexivity | cbv beta];
    lazymatch goal with
    | |- dual (fun t => if Rltb (@?p t) (@?q t) then @?f t else @?g t) _ _ =>
        try (eapply (dual_decided_lt p q f g); [let t := fresh in let H := fresh in intros t H; decided ..| cbv beta]);
        lazymatch goal with |- dual (fun t => if _ then @?f t else @?g t) _ _ => eapply (dual_if_lt p q f g) end
    | |- dual (fun t => if Rleb (@?p t) (@?q t) then @?f t else @?g t) _ _ =>
        try (eapply (dual_decided_le p q f g); [let t := fresh in let H := fresh in intros t H; decided ..| cbv beta]);
        lazymatch goal with |- dual (fun t => if _ then @?f t else @?g t) _ _ => eapply (dual_if_le p q f g) end
    | |- dual (fun t => if Reqb (@?p t) (@?q t) then @?f t else @?g t) _ _ =>
        first
          [ apply (dual_ext g);
            [ let t := fresh in intro t; cbv beta; let E := fresh in
              destruct (Reqb_spec (p t) (q t)) as [E|E]; [cbv beta in E; symmetry; solve [at_seam E] | reflexivity]
            | cbv beta ]
          | eapply (dual_if_eq p q f g) ]
    end
  end.

(** Whole parts towards 0, written with a choice, are steady where the choice is not. *)
Ltac fold_trunc :=
  lazymatch goal with |- dual ?f ?v ?d =>
    lazymatch f with context [floor] => idtac end;
    let F := constr:(fun t : R => ltac:(
      let b := eval cbv beta in (f t) in
      match b with context C [if Rltb ?q 0 then Z.opp (floor (- ?q)) else floor ?q] =>
        let r := context C [trunc q] in exact r end)) in
    change (dual F v d); cbv beta
  end.

(** What is written so that no exponential is large has no seam. *)
Ltac fold_softplus :=
  lazymatch goal with |- dual ?f ?v ?d =>
    lazymatch f with context [ln (1 + exp (- (if _ then _ else _)))] => idtac end;
    let F := constr:(fun t : R => ltac:(
      let b := eval cbv beta in (f t) in
      match b with
      | context C [(if Rltb ?q 0 then 0 else ?q) + ln (1 + exp (- (if Rltb ?q 0 then - ?q else ?q)))] =>
          let r := context C [softplus q] in exact r
      | context C [(if Rltb ?q 0 then 0 else ?q) - ?z + ln (1 + exp (- (if Rltb ?q 0 then - ?q else ?q)))] =>
          let r := context C [softplus_less q z] in exact r
      end)) in
    change (dual F v d); cbv beta
  end.

Ltac dual_law :=
  lazymatch goal with
  | H : forall x : R, is_derive (fun y => exp (Rabs y) * ?h y) x _
    |- dual (fun t => exp (if Rltb (@?f t) 0 then _ else _) * ?h (@?f t)) _ _ =>
      eapply (dual_scaled h f); [ | eapply H]
  | H : forall x : R, _ -> is_derive (fun y => exp (Rabs y) * ?h y) x _
    |- dual (fun t => exp (if Rltb (@?f t) 0 then _ else _) * ?h (@?f t)) _ _ =>
      eapply (dual_scaled h f); [ | eapply H]
  | |- dual ?f _ _ =>
      lazymatch f with
      | fun t => sum_lt (@?n t) (@?g t) => dual_step
      | context [Rltb] => first [hoist | dual_step]
      | context [Rleb] => first [hoist | dual_step]
      | context [Reqb] => first [hoist | dual_step]
      | _ => dual_step
      end
  | |- _ => dual_step
  end.

(** All that follows from the form; what the laws ask of values remains. *)
Ltac derive :=
  cbv beta;
  lazymatch goal with
  | |- dual (fun t => softplus (@?f t)) _ _ => eapply (dual_softplus f); derive
  | |- dual (fun t => softplus_less (@?f t) (@?g t)) _ _ => eapply (dual_softplus_less f g); derive
  | |- dual _ _ _ => first [fold_softplus | (try fold_trunc); dual_law]; derive
  | |- steady _ _ => dual_step; derive
  | |- _ -> dual _ _ _ => intro; try (apply dual_of_nothing; solve [contradiction | congruence | lra]); derive
  | |- (0 <= _ < _)%Z -> _ => intro; derive
  | |- _ -> steady _ _ => intro; derive
  | |- forall _ : Z, (0 <= _ < _)%Z -> dual _ _ _ => intros ? ?; derive
  | |- forall _ : Z, _ => intro; derive
  | |- _ => idtac
  end.

(** What is 0 is whole. *)
Ltac at_whole := match goal with H : ?b <> IZR (floor ?b) |- False => apply H, (whole b 0); lra end.

(** What leaves nothing is a whole multiple. *)
Lemma whole_multiple : forall a b z, b <> 0 -> a - b * IZR z = 0 -> a / b = IZR z.
Proof. intros a b z N E; replace a with (b * IZR z) by lra; field; exact N. Qed.

Ltac at_multiple :=
  match goal with E : ?a - ?b * IZR ?z = 0, N : ?b <> 0, H : ?c <> IZR (floor ?c) |- _ =>
    apply H, (whole c z); rewrite <- (whole_multiple a b z N E); field; exact N
  end.

Ltac seam :=
  let E := fresh "E" in intros E; cbv beta in *; rewrite ?Z.add_0_r in *; hypotheses; split_or;
  first [ exfalso; solve [contradiction | congruence | lra | absurd_zero | (know_sums; absurd_zero) | at_multiple | nra | at_whole | side]
        | split; at_seam E
        | at_seam E ].

Ltac asked :=
  cbv beta;
  lazymatch goal with
  | |- _ = _ -> _ => seam
  | |- _ => side
  end.
