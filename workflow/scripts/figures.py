raise SystemExit("later")
