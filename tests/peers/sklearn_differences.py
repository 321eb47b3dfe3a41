"""What scikit-learn's own tests expect otherwise than our estimators do, and why.

A test is listed by its file and name, with how many of its cases fail. The reasons are of one line.
"""

# ruff: noqa: E501 (names of tests are as long as they are)

# Their files, and how many of their tests with one of ours in it must pass at the least.
FILES = {
    "svm/tests/test_svm.py": 38,
    "svm/tests/test_sparse.py": 84,
    "linear_model/tests/test_logistic.py": 138,
    "linear_model/tests/test_perceptron.py": 4,
    "linear_model/tests/test_sgd.py": 56,
    "linear_model/tests/test_ridge.py": 521,
    "linear_model/tests/test_common.py": 18,
    "tests/test_discriminant_analysis.py": 24,
    "tests/test_calibration.py": 57,
    "model_selection/tests/test_search.py": 56,
    "model_selection/tests/test_validation.py": 49,
    "model_selection/tests/test_classification_threshold.py": 47,
    "ensemble/tests/test_stacking.py": 39,
    "ensemble/tests/test_voting.py": 20,
    "ensemble/tests/test_bagging.py": 69,
    "ensemble/tests/test_common.py": 7,
    "tests/test_pipeline.py": 15,
    "tests/test_multiclass.py": 48,
    "tests/test_multioutput.py": 34,
    "feature_selection/tests/test_rfe.py": 30,
    "feature_selection/tests/test_from_model.py": 8,
    "metrics/tests/test_score_objects.py": 60,
    "inspection/_plot/tests/test_boundary_decision_display.py": 88,
    "inspection/tests/test_partial_dependence.py": 71,
    "metrics/_plot/tests/test_common_curve_display.py": 74,
    "metrics/_plot/tests/test_roc_curve_display.py": 126,
    "metrics/_plot/tests/test_precision_recall_display.py": 59,
    "metrics/_plot/tests/test_confusion_matrix_display.py": 32,
    "metrics/_plot/tests/test_det_curve_display.py": 32,
    "utils/tests/test_response.py": 26,
    "semi_supervised/tests/test_self_training.py": 7,
    "frozen/tests/test_frozen.py": 10,
}

# Parameters that none of ours stands for: what the stand-ins refuse.
LACKING = {
    "penalty='l1'": "SGD has no penalty that makes weights sparse; LogisticRegression has",
    "penalty='elasticnet'": "SGD and the perceptron have no penalty that makes weights sparse",
    "l1_ratios=*": "of several ratios the search keeps the scores of the chosen one alone",
    "dual=True": "the solver is chosen by the rows",
    "loss=*": "SGD has the losses of classifiers, and none of regression but the squared one",
    "learning_rate=*": "steps are constant, falling or optimal; none adapt to the loss",
    "covariance_estimator=*": "shrinkage is by Ledoit and Wolf or by a number",
    "n_components=*": "directions are for Fisher",
    "alpha of every target": "one penalty for all targets",
}

# Listed below, but they may pass: they draw their data without a seed, or compare last digits, which
# depend on the processor.
MAY_PASS = {
    "tests/test_multiclass.py::test_ovr_partial_fit",
    "svm/tests/test_sparse.py::test_svc_iris",
}

# Reason -> tests, with the number of cases that fail.
_BY_REASON = {
    "a stream does not know its length, which the step `optimal` needs": {
        "tests/test_multiclass.py::test_ovr_partial_fit": 1,
    },
    "it looks at a private attribute of theirs": {
        "svm/tests/test_svm.py::test_tweak_params": 1,
        "svm/tests/test_svm.py::test_gamma_scale": 1,
        "svm/tests/test_svm.py::test_svc_raises_error_internal_representation": 1,
        "linear_model/tests/test_logistic.py::test_logreg_predict_proba_multinomial": 1,
        "linear_model/tests/test_logistic.py::test_get_default_scorer": 1,
        "linear_model/tests/test_sgd.py::test_warm_start": 6,
        "linear_model/tests/test_sgd.py::test_plain_has_no_average_attr": 2,
        "linear_model/tests/test_sgd.py::test_sgd_predict_proba_method_access": 2,
        "linear_model/tests/test_sgd.py::test_partial_fit_equal_fit_classif": 6,
        "linear_model/tests/test_sgd.py::test_warm_start_multiclass": 2,
        "linear_model/tests/test_sgd.py::test_validation_mask_correctly_subsets": 1,
        "tests/test_discriminant_analysis.py::test_qda_coefs": 1,
    },
    "a weight below zero is refused": {
        "svm/tests/test_svm.py::test_negative_sample_weights_mask_all_samples": 2,
        "svm/tests/test_svm.py::test_negative_weights_svc_leave_just_one_label": 2,
        "svm/tests/test_svm.py::test_negative_weights_svc_leave_two_labels": 1,
        "svm/tests/test_svm.py::test_negative_weight_equal_coeffs": 1,
    },
    "sparse rows are predicted by a model of dense ones": {
        "svm/tests/test_svm.py::test_bad_input": 2,
    },
    "the message is worded otherwise: it says what to do": {
        "svm/tests/test_svm.py::test_svc_nonfinite_params": 1,
        "svm/tests/test_svm.py::test_sparse_precomputed": 2,
        "svm/tests/test_svm.py::test_hasattr_predict_proba": 1,
        "linear_model/tests/test_logistic.py::test_nan": 1,
        "linear_model/tests/test_sgd.py::test_provide_coef": 2,
        "linear_model/tests/test_sgd.py::test_set_intercept_offset": 2,
        "linear_model/tests/test_sgd.py::test_partial_fit_weight_class_balanced": 2,
        "linear_model/tests/test_sgd.py::test_underflow_or_overflow": 1,
        "linear_model/tests/test_sgd.py::test_sgd_error_on_zero_validation_weight": 1,
        "tests/test_discriminant_analysis.py::test_lda_priors": 1,
        "tests/test_discriminant_analysis.py::test_raises_value_error_on_same_number_of_classes_and_samples": 3,
        "tests/test_discriminant_analysis.py::test_raises_value_error_on_one_sample_per_class": 2,
        "model_selection/tests/test_validation.py::test_cross_val_predict_decision_function_shape": 1,
        "tests/test_multioutput.py::test_multi_output_predict_proba": 1,
        "tests/test_multioutput.py::test_multi_output_delegate_predict_proba": 1,
        "semi_supervised/tests/test_self_training.py::test_self_training_estimator_attribute_error": 1,
    },
    "which penalty, loss and solver go together is their rule": {
        "svm/tests/test_svm.py::test_linearsvc_parameters": 4,
        "linear_model/tests/test_logistic.py::test_check_solver_option": 2,
        "linear_model/tests/test_logistic.py::test_elasticnet_l1_ratio_err_helpful": 2,
        "linear_model/tests/test_logistic.py::test_l1_ratio_non_elasticnet": 1,
        "linear_model/tests/test_logistic.py::test_penalty_none": 5,
        "linear_model/tests/test_logistic.py::test_liblinear_multiclass_raises": 2,
        "linear_model/tests/test_logistic.py::test_lr_penalty_l1ratio_incompatible": 2,
        "linear_model/tests/test_sgd.py::test_sgd_failing_penalty_validation": 2,
        "linear_model/tests/test_ridge.py::test_ridge_positive_error_test": 6,
    },
    "beside sparse weights the intercept is free: theirs is charged as a weight": {
        "svm/tests/test_svm.py::test_dense_liblinear_intercept_handling": 1,
        "svm/tests/test_sparse.py::test_sparse_liblinear_intercept_handling": 1,
    },
    "there is no limit of iterations: a fit ends with its proof": {
        "svm/tests/test_svm.py::test_libsvm_convergence_warnings": 1,
        "svm/tests/test_svm.py::test_linear_svm_convergence_warnings": 1,
        "svm/tests/test_sparse.py::test_timeout": 2,
        "linear_model/tests/test_logistic.py::test_max_iter": 21,
        "linear_model/tests/test_logistic.py::test_zero_max_iter": 6,
        "linear_model/tests/test_logistic.py::test_newton_cholesky_fallback_to_lbfgs": 1,
        "linear_model/tests/test_ridge.py::test_lbfgs_solver_error": 1,
    },
    "ties between classes are always broken by the scores": {
        "svm/tests/test_svm.py::test_svc_invalid_break_ties_param": 1,
        "svm/tests/test_svm.py::test_svc_ovr_tie_breaking": 1,
    },
    "rows that are texts go to a kernel as numbers only": {
        "svm/tests/test_svm.py::test_custom_kernel_not_array_input": 1,
    },
    "a deprecation of theirs, which ours never had": {
        "svm/tests/test_svm.py::test_probability_raises_futurewarning": 2,
        "svm/tests/test_svm.py::test_svc_nusvc_probA_probB_deprecated": 1,
        "linear_model/tests/test_logistic.py::test_penalty_deprecated": 2,
        "linear_model/tests/test_logistic.py::test_logisticregressioncv_warns_with_use_legacy_attributes": 1,
        "linear_model/tests/test_logistic.py::test_l1_ratio_None_deprecated": 1,
        "linear_model/tests/test_logistic.py::test_logisticregression_warns_with_n_jobs": 1,
        "linear_model/tests/test_logistic.py::test_lr_scoring_warns": 1,
        "linear_model/tests/test_sgd.py::test_power_t_limits": 2,
    },
    "two fits agree to their tolerance, which is one of the objective": {
        "svm/tests/test_sparse.py::test_svc_iris": 2,
        "linear_model/tests/test_logistic.py::test_logistic_cv": 2,
        "linear_model/tests/test_logistic.py::test_logistic_regression_cv_refit": 1,
        "linear_model/tests/test_logistic.py::test_warm_start_newton_solver": 2,
        "model_selection/tests/test_search.py::test_search_cv_sample_weight_equivalence": 1,
    },
    "coef_ stays dense: there is no sparsify": {
        "svm/tests/test_sparse.py::test_linearsvc_iris": 2,
        "linear_model/tests/test_logistic.py::test_sparsify": 2,
        "feature_selection/tests/test_rfe.py::test_rfe_sparse_coef": 2,
        "feature_selection/tests/test_from_model.py::test_feature_importance_sparse": 2,
    },
    "it remembers numbers of their solver, which stops short of the optimum": {
        "linear_model/tests/test_logistic.py::test_logistic_cv_multinomial_score": 1,
        "tests/test_multioutput.py::test_multiclass_multioutput_estimator_predict_proba": 1,
        "metrics/_plot/tests/test_roc_curve_display.py::test_roc_curve_display_plotting_from_cv_results": 16,
    },
    "a class weight of zero is refused": {
        "linear_model/tests/test_logistic.py::test_multinomial_logistic_regression_string_inputs": 1,
    },
    "a fold that trains without a class is refused": {
        "linear_model/tests/test_logistic.py::test_multinomial_cv_iris": 2,
        "linear_model/tests/test_logistic.py::test_logistic_cv_folds_with_classes_missing": 4,
    },
    "a scorer is called from the middle C outwards, not in the order of C": {
        "linear_model/tests/test_logistic.py::test_logistic_cv_mock_scorer": 1,
    },
    "iterations are those of the last fit, not of every fold and C": {
        "linear_model/tests/test_logistic.py::test_n_iter": 12,
    },
    "every fit reaches the optimum: a cold start ends at the same weights": {
        "linear_model/tests/test_logistic.py::test_warm_start": 10,
    },
    "models are fitted and proved in float64, whatever the rows are": {
        "linear_model/tests/test_logistic.py::test_dtype_match": 20,
        "linear_model/tests/test_sgd.py::test_sgd_dtype_match": 2,
        "linear_model/tests/test_ridge.py::test_dtype_match": 7,
        "tests/test_discriminant_analysis.py::test_lda_dtype_match": 1,
    },
    "separable classes without a penalty are warned of": {
        "linear_model/tests/test_logistic.py::test_c_inf_no_warning": 5,
    },
    "sparse rows of 64-bit indices and large values are taken": {
        "linear_model/tests/test_logistic.py::test_large_sparse_matrix": 6,
        "linear_model/tests/test_logistic.py::test_liblinear_with_large_values": 1,
    },
    "sample weights count in the score wherever they are given": {
        "linear_model/tests/test_logistic.py::test_lr_cv_scores_differ_when_sample_weight_is_requested": 1,
    },
    "fit takes no other arguments, with or without routing": {
        "linear_model/tests/test_logistic.py::test_passing_params_without_enabling_metadata_routing": 1,
    },
    "callbacks are called a few times a second, not every iteration": {
        "linear_model/tests/test_logistic.py::test_logistic_regression_callback_support": 3,
        "linear_model/tests/test_logistic.py::test_logistic_regression_callback_support_warning": 1,
    },
    "averaging begins at the first step, and step t counts t times": {
        "linear_model/tests/test_sgd.py::test_late_onset_averaging_not_reached": 2,
        "linear_model/tests/test_sgd.py::test_late_onset_averaging_reached": 2,
        "linear_model/tests/test_sgd.py::test_average_binary_computed_correctly": 2,
        "linear_model/tests/test_sgd.py::test_sgd_multiclass_average": 2,
    },
    "a fit ends with its proof or its passes, not where the loss falls no more": {
        "linear_model/tests/test_sgd.py::test_early_stopping": 2,
    },
    "which rows are kept back follows from what they hold, not from their places": {
        "linear_model/tests/test_sgd.py::test_validation_set_not_used_for_training": 2,
    },
    "every class keeps a row to train on, whatever share is held out": {
        "linear_model/tests/test_sgd.py::test_not_enough_sample_for_early_stopping": 2,
    },
    "a stream has no passes to stop early: the setting is not looked at": {
        "linear_model/tests/test_sgd.py::test_sgd_early_stopping_with_partial_fit": 2,
    },
    "modified_huber has scores only, no probabilities": {
        "linear_model/tests/test_sgd.py::test_sgd_proba": 2,
    },
    "without class weights our fit is better than the test allows it to be": {
        "linear_model/tests/test_sgd.py::test_balanced_weight": 2,
    },
    "the stand-in's optimal steps need the number of rows: a stream has other ones": {
        "linear_model/tests/test_sgd.py::test_fit_then_partial_fit": 2,
    },
    "tol is one of the proved gap: it must be above 0, and ends a fit": {
        "linear_model/tests/test_sgd.py::test_tol_parameter": 1,
    },
    "one column of targets keeps its dimension": {
        "linear_model/tests/test_ridge.py::test_ridge_shapes_type": 1,
        "linear_model/tests/test_common.py::test_linear_model_regressor_coef_shape": 1,
    },
    "steps are counted otherwise: of the solver that was chosen": {
        "linear_model/tests/test_ridge.py::test_n_iter": 1,
    },
    "how a solver of theirs is named and limited": {
        "linear_model/tests/test_ridge.py::test_ridge_fit_intercept_sparse_error": 6,
        "linear_model/tests/test_ridge.py::test_ridge_fit_intercept_sparse_sag": 4,
    },
    "one class alone is refused": {
        "linear_model/tests/test_common.py::test_model_pipeline_same_dense_and_sparse": 2,
    },
    "covariance_estimator is refused by the stand-in, in other words": {
        "tests/test_discriminant_analysis.py::test_lda_predict": 1,
        "tests/test_discriminant_analysis.py::test_qda_covariance_estimator": 1,
    },
    "directions are for Fisher: the Gaussian classifier does not transform": {
        "tests/test_discriminant_analysis.py::test_lda_explained_variance_ratio": 1,
        "tests/test_discriminant_analysis.py::test_lda_orthogonality": 2,
        "tests/test_discriminant_analysis.py::test_get_feature_names_out": 1,
    },
    "covariance_ is kept where store_covariance says so, whatever the solver": {
        "tests/test_discriminant_analysis.py::test_lda_store_covariance": 1,
    },
    "a singular covariance is refused, or shrunk, with a reason": {
        "tests/test_discriminant_analysis.py::test_qda_regularization": 2,
    },
    "their default estimator is theirs": {
        "tests/test_calibration.py::test_calibration_default_estimator": 1,
    },
    "partial_fit goes one pass with other steps, to another model": {
        "model_selection/tests/test_validation.py::test_learning_curve_batch_and_incremental_learning_are_equal": 1,
    },
    "passive-aggressive steps (pa1) are not ours": {
        "model_selection/tests/test_validation.py::test_learning_curve_with_shuffle": 1,
    },
    "one class left, the others of weight zero, is refused": {
        "ensemble/tests/test_bagging.py::test_bagging_small_max_features": 1,
    },
}

# Test -> number of cases, reason.
DIFFERENCES = {
    test: (cases, reason) for reason, tests in _BY_REASON.items() for test, cases in tests.items()
}
