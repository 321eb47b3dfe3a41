"""The machines in scikit-learn's manners: validate, translate, solve, certify."""
