"""The models in scikit-learn's manners: validate, translate, solve, certify."""
