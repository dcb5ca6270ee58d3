(** The tactics by which printed theorems are proved. A tactic that fails says nothing of the theorem. *)

From Coq Require Import Reals Lra Lia ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import Sums Curves Piecewise Maxima Functions.
Open Scope R_scope.

(** * Hypotheses about every entry, at the entries at hand *)

Ltac have P prf := lazymatch goal with | _ : P |- _ => fail | _ => assert P by exact prf end.

Ltac at_entries :=
  repeat match goal with
  | H : forall i : Z, (0 <= i < ?n)%Z -> _, K : (0 <= ?j < ?n)%Z |- _ =>
      let P := type of (H j K) in let P' := eval cbv beta in P in
      lazymatch goal with | _ : P' |- _ => fail | _ => assert P' by exact (H j K) end
  end.

Ltac hypotheses :=
  at_entries;
  repeat match goal with
  | H : _ /\ _ |- _ => destruct H
  end.

(** * Cases *)

Ltac decide_bool c :=
  lazymatch c with
  | context [if ?d then _ else _] => decide_bool d
  | Rltb ?a ?b => destruct (Rltb_spec a b)
  | Rleb ?a ?b => destruct (Rleb_spec a b)
  | Reqb ?a ?b => destruct (Reqb_spec a b)
  | (?a <? ?b)%Z => destruct (Z.ltb_spec a b)
  | (?a <=? ?b)%Z => destruct (Z.leb_spec a b)
  | (?a =? ?b)%Z => destruct (Z.eqb_spec a b)
  | (?p && ?q)%bool => first [decide_bool p | decide_bool q]
  | (?p || ?q)%bool => first [decide_bool p | decide_bool q]
  | negb ?p => decide_bool p
  | _ => is_var c; destruct c
  | _ => destruct c eqn:?
  end.

Ltac reduce := cbn [andb orb negb] in *; cbv beta iota.

Ltac absurd_case := exfalso; first [contradiction | lia | lra].

Ltac split_cases :=
  repeat (match goal with
          | |- context [if ?c then _ else _] => decide_bool c
          end; reduce; try absurd_case).

(** What is not equal is less or greater. *)
Ltac split_unequal :=
  repeat match goal with
  | H : ?a <> ?b |- _ => lazymatch type of a with R => destruct (Rdichotomy a b H); clear H end
  end.

(** * Signs *)

Ltac index_fact := first [assumption | lia].

Ltac positive :=
  cbv beta;
  match goal with
  | |- _ => assumption
  | |- _ /\ _ => split; positive
  | |- ?a <> 0 => apply Rgt_not_eq; red; solve [positive]
  | |- ?a <> 0 => apply Rlt_not_eq; solve [positive]
  | |- - ?a < 0 => apply Ropp_lt_gt_0_contravar; red; solve [positive]
  | |- 0 < exp _ => apply exp_pos
  | |- 0 <= exp _ => apply Rlt_le, exp_pos
  | |- 0 < cosh _ => apply cosh_pos
  | |- 0 < PI => apply PI_RGT_0
  | |- 0 < IZR _ => apply (IZR_lt 0); index_fact
  | |- 0 <= IZR _ => apply (IZR_le 0); index_fact
  | |- 0 < sqrt _ => apply sqrt_lt_R0; solve [positive]
  | |- 0 <= sqrt _ => apply sqrt_pos
  | |- 0 <= Rabs _ => apply Rabs_pos
  | |- 0 < Rabs _ => apply Rabs_pos_lt; solve [positive]
  | |- 0 < / _ => apply Rinv_0_lt_compat; solve [positive]
  | |- 0 <= / _ => apply Rlt_le, Rinv_0_lt_compat; solve [positive]
  | |- 0 < _ / _ => apply Rdiv_lt_0_compat; solve [positive]
  | |- 0 <= _ / _ => apply Rdiv_le_0_compat; solve [positive]
  | |- 0 <= ?a * ?a => apply Rle_0_sqr
  | |- 0 <= ?a ^ 2 => apply pow2_ge_0
  | |- 0 < _ ^ _ => apply pow_lt; solve [positive]
  | |- 0 <= _ ^ _ => apply pow_le; solve [positive]
  | |- 0 < zpow _ _ => apply zpow_pos; solve [positive]
  | |- 0 < _ * _ => apply Rmult_lt_0_compat; solve [positive]
  | |- 0 <= _ * _ => apply Rmult_le_pos; solve [positive]
  | |- 0 < sum_lt _ _ => apply sum_pos; [index_fact | intros; hypotheses; solve [positive]]
  | |- 0 <= sum_lt _ _ => apply sum_nonneg; intros; hypotheses; solve [positive]
  | |- 0 < _ + _ => apply Rplus_lt_le_0_compat; solve [positive]
  | |- 0 < _ + _ => apply Rplus_le_lt_0_compat; solve [positive]
  | |- 0 <= _ + _ => apply Rplus_le_le_0_compat; solve [positive]
  | |- 0 < _ => lra
  | |- 0 <= _ => apply Rlt_le; solve [positive]
  | |- 0 <= _ => lra
  | |- ?a <> 0 => lra
  | |- sqrt ?a <> 0 => apply Rgt_not_eq, sqrt_lt_R0; solve [positive]
  | |- exp _ <> 0 => apply Rgt_not_eq, exp_pos
  | |- ?a * ?b <> 0 => apply Rmult_integral_contrapositive_currified; solve [positive]
  | |- / ?a <> 0 => apply Rinv_neq_0_compat; solve [positive]
  | |- ?a ^ _ <> 0 => apply pow_nonzero; solve [positive]
  | |- cbrt ?a <> 0 => apply cbrt_not_0; solve [positive]
  | |- IZR _ <> 0 => apply not_0_IZR; index_fact
  | |- ?a <> ?b => apply Rminus_not_eq; solve [positive]
  | |- ?a < ?b => apply Rminus_lt_0; solve [positive]
  end.

(** What tells of exponentials that they are positive, so that linear arithmetic knows. *)
Ltac know_exponentials :=
  repeat match goal with
  | |- context [exp ?a] => lazymatch goal with | _ : 0 < exp a |- _ => fail | _ => assert (0 < exp a) by apply exp_pos end
  end.

Ltac side :=
  intros; cbv beta in *; hypotheses; split_cases;
  first [ assumption
        | index_fact
        | lra
        | positive
        | split_unequal; first [lra | nra | positive]
        | know_exponentials; first [lra | nra]
        | nra ].

(** * Equations of reals *)

Ltac unify_arguments f :=
  repeat match goal with
  | |- context [f ?a] => match goal with
      | |- context [f ?b] => tryif constr_eq a b then fail else (replace (f b) with (f a) by (f_equal; first [ring | (field; side)]))
      end
  end.

Ltac normalise_exponentials :=
  unfold tanh, sinh, cosh, Rminus, Rdiv;
  rewrite ?Ropp_mult_distr_l;
  repeat first
    [ rewrite exp_plus
    | rewrite exp_Ropp
    | rewrite exp_0
    | rewrite exp_ln by side ].

(** Squares of roots. *)
Ltac root_squares :=
  repeat match goal with
  | |- context [sqrt ?a] =>
      lazymatch goal with | _ : sqrt a * sqrt a = a |- _ => fail
      | _ => assert (sqrt a * sqrt a = a) by (apply sqrt_sqrt; side) end
  end.

Ltac field_with_roots :=
  root_squares;
  match goal with
  | A : sqrt ?a * sqrt ?a = _, B : sqrt ?b * sqrt ?b = _ |- _ => field [A B]; side
  | A : sqrt ?a * sqrt ?a = _ |- _ => field [A]; side
  end.

Ltac equation :=
  cbv beta; hypotheses; split_cases;
  first [ reflexivity
        | ring
        | lra
        | field; side
        | field_with_roots
        | (unify_arguments sqrt; first [ring | (field; side) | field_with_roots])
        | (normalise_exponentials; unify_arguments exp; field; side)
        | nra ].

(** * Derivatives along curves *)

Ltac dual_step :=
  lazymatch goal with
  | |- dual (fun _ => ?c) _ _ => apply (dual_const c)
  | |- dual (fun t => @?f t + @?g t) _ _ =>
      lazymatch f with
      | fun _ => ?a => lazymatch g with fun t => t * @?h t => lazymatch h with fun _ => ?b => apply (dual_line a b) end
                       | _ => eapply (dual_plus f g) end
      | _ => eapply (dual_plus f g)
      end
  | |- dual (fun t => @?f t - @?g t) _ _ => eapply (dual_minus f g)
  | |- dual (fun t => @?f t * @?g t) _ _ => eapply (dual_mult f g)
  | |- dual (fun t => @?f t / @?g t) _ _ => eapply (dual_div f g)
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
  | |- dual (fun t => sum_lt (@?n t) (@?f t)) _ _ => eapply (dual_sum _ f)
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
  | |- steady (fun t => Rltb (@?f t) (@?g t)) _ => eapply (steady_Rltb f g)
  | |- steady (fun t => Rleb (@?f t) (@?g t)) _ => eapply (steady_Rleb f g)
  | |- steady (fun t => Reqb (@?f t) (@?g t)) _ => eapply (steady_Reqb f g)
  | |- steady (fun t => if @?c t then @?f t else @?g t) _ =>
      eapply (steady_if c f g)
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

(** The first comparison that moves, wherever it stands, decides between two functions without it. *)
Ltac hoist :=
  lazymatch goal with |- dual ?f _ _ =>
    let c := constr:(fun t : R => ltac:(
      let b := eval cbv beta in (f t) in
      match b with
      | context [Rltb ?p ?q] => lazymatch constr:((p, q)) with context [t] => idtac end; exact (Rltb p q)
      | context [Rleb ?p ?q] => lazymatch constr:((p, q)) with context [t] => idtac end; exact (Rleb p q)
      | context [Reqb ?p ?q] => lazymatch constr:((p, q)) with context [t] => idtac end; exact (Reqb p q)
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
    | |- dual (fun t => if Rltb (@?p t) (@?q t) then @?f t else @?g t) _ _ => eapply (dual_if_lt p q f g)
    | |- dual (fun t => if Rleb (@?p t) (@?q t) then @?f t else @?g t) _ _ => eapply (dual_if_le p q f g)
    | |- dual (fun t => if Reqb (@?p t) (@?q t) then @?f t else @?g t) _ _ => eapply (dual_if_eq p q f g)
    end
  end.

Ltac dual_law :=
  lazymatch goal with
  | |- dual ?f _ _ =>
      lazymatch f with
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
  | |- dual _ _ _ => dual_law; derive
  | |- steady _ _ => dual_step; derive
  | |- _ -> dual _ _ _ => intro; try (exfalso; solve [contradiction | lra]); derive
  | |- (0 <= _ < _)%Z -> _ => intro; derive
  | |- forall _ : Z, (0 <= _ < _)%Z -> dual _ _ _ => intros ? ?; derive
  | |- forall _ : Z, _ => intro; derive
  | |- _ => idtac
  end.

(** At a seam: it is excluded, or both branches agree there. *)
Ltac split_or := repeat match goal with H : _ \/ _ |- _ => destruct H end.

Ltac at_seam E :=
  first [ solve [equation]
        | rewrite ?E; rewrite ?Ropp_0, ?exp_0, ?ln_1, ?Rmult_0_r, ?Rmult_0_l, ?Rminus_0_r, ?Rplus_0_l; solve [equation]
        | rewrite <- ?E; rewrite ?Ropp_0, ?exp_0, ?ln_1, ?Rmult_0_r, ?Rmult_0_l; solve [equation]
        | split_unequal; solve [nra] ].

Ltac seam :=
  let E := fresh "E" in intros E; cbv beta in *; hypotheses; split_or;
  first [ exfalso; solve [contradiction | lra | nra | side]
        | split; at_seam E
        | at_seam E ].

Ltac asked :=
  cbv beta;
  lazymatch goal with
  | |- _ = _ -> _ => seam
  | |- _ => side
  end.
