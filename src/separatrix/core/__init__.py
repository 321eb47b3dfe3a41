"""What is done, without scikit-learn: estimators are the scikit-learn face of what is here."""
