"""All metrics at once against disentanglement_lib's algorithms: n = 10,000, 10 latents, 6 factors of dSprites' sizes.

`python benchmarks/bench_metrics.py` takes about two minutes: the reference gradient boosting is timed on 5 of its 100
rounds and multiplied by 20, its sampling loops on a tenth of their batches and multiplied by 10; `--full` runs all of
it (about 10 minutes). Seconds are processor time (set OMP_NUM_THREADS=1); the last line has the clock, where LightGBM
gains from more cores.

The reference functions below follow the published descriptions: one pass of scikit-learn for every (latent, factor)
pair, one Python iteration for every batch.
"""

import argparse
import time
import warnings

import numpy as np

from partita import metrics, structure

SIZES = (2, 3, 6, 40, 32, 32)
LATENTS, ROWS = 10, 10_000
TRAIN = -(-2 * ROWS // 3)


def make_codes(factors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Codes of a half-disentangled model: every factor mainly in one latent, some of it in the others, noise on top."""
    scaled = (factors - (np.array(SIZES) - 1) / 2) / np.sqrt((np.array(SIZES) ** 2 - 1) / 12)
    mixing = 0.3 * np.random.default_rng(1).standard_normal((len(SIZES), LATENTS))
    mixing[:, : len(SIZES)] += np.eye(len(SIZES))
    return scaled @ mixing + 0.2 * rng.standard_normal((len(factors), LATENTS))


def draw(fixed: dict, n: int, rng: np.random.Generator) -> np.ndarray:
    factors = np.stack([rng.integers(size, size=n) for size in SIZES], 1)
    for factor, values in fixed.items():
        factors[:, factor] = values
    return make_codes(factors, rng)


def reference_information(codes, factors, bins=20):
    from sklearn.metrics import mutual_info_score

    matrix = np.zeros((codes.shape[1], factors.shape[1]))
    for k in range(codes.shape[1]):
        binned = np.digitize(codes[:, k], np.histogram(codes[:, k], bins)[1][:-1])
        for f in range(factors.shape[1]):
            matrix[k, f] = mutual_info_score(factors[:, f], binned)
    entropy = [mutual_info_score(factors[:, f], factors[:, f]) for f in range(factors.shape[1])]
    return matrix, np.array(entropy)


def reference_mig(codes, factors):
    matrix, entropy = reference_information(codes, factors)
    ordered = np.sort(matrix, 0)
    return np.mean((ordered[-1] - ordered[-2]) / entropy)


def reference_modularity(codes, factors):
    squared = reference_information(codes, factors)[0] ** 2
    best = squared.max(1)
    return np.mean(1 - (squared.sum(1) - best) / (best * (squared.shape[1] - 1)))


def reference_mig_sup(codes, factors):
    matrix, entropy = reference_information(codes, factors)
    ordered = np.sort(matrix / entropy, 1)
    return np.mean(ordered[:, -1] - ordered[:, -2])


def reference_jemmig(codes, factors, bins=20):
    from sklearn.metrics import mutual_info_score

    matrix, entropy = reference_information(codes, factors, bins)
    ordered = np.sort(matrix, 0)
    total = 0.0
    for f, k in enumerate(matrix.argmax(0)):
        binned = np.digitize(codes[:, k], np.histogram(codes[:, k], bins)[1][:-1])
        joint = mutual_info_score(binned, binned) + entropy[f] - matrix[k, f]
        total += 1 - (joint - ordered[-1, f] + ordered[-2, f]) / (entropy[f] + np.log(bins))
    return total / factors.shape[1]


def reference_dcimig(codes, factors):
    matrix, entropy = reference_information(codes, factors)
    ordered = np.sort(matrix, 1)
    credit = np.zeros(factors.shape[1])
    for k, f in enumerate(matrix.argmax(1)):
        credit[f] = max(credit[f], ordered[k, -1] - ordered[k, -2])
    return credit.sum() / entropy.sum()


def reference_sap(codes, factors):
    from sklearn.svm import LinearSVC

    matrix = np.zeros((codes.shape[1], factors.shape[1]))
    for k in range(codes.shape[1]):
        for f in range(factors.shape[1]):
            model = LinearSVC(C=0.01, class_weight="balanced").fit(codes[:TRAIN, k : k + 1], factors[:TRAIN, f])
            matrix[k, f] = np.mean(model.predict(codes[TRAIN:, k : k + 1]) == factors[TRAIN:, f])
    ordered = np.sort(matrix, 0)
    return np.mean(ordered[-1] - ordered[-2])


def reference_sap_continuous(codes, factors):
    matrix = np.zeros((codes.shape[1], factors.shape[1]))
    for k in range(codes.shape[1]):
        for f in range(factors.shape[1]):
            matrix[k, f] = np.corrcoef(codes[:TRAIN, k], factors[:TRAIN, f])[0, 1] ** 2
    ordered = np.sort(matrix, 0)
    return np.mean(ordered[-1] - ordered[-2])


def reference_dci(codes, factors, rounds=100):
    from scipy.stats import entropy
    from sklearn.ensemble import GradientBoostingClassifier

    matrix = np.zeros((codes.shape[1], factors.shape[1]))
    for f in range(factors.shape[1]):
        model = GradientBoostingClassifier(n_estimators=rounds).fit(codes[:TRAIN], factors[:TRAIN, f])
        matrix[:, f] = model.feature_importances_
        np.mean(model.predict(codes[:TRAIN]) == factors[:TRAIN, f])
        np.mean(model.predict(codes[TRAIN:]) == factors[TRAIN:, f])
    per_code = 1 - entropy(matrix.T + 1e-11, base=matrix.shape[1])
    return np.sum(per_code * matrix.sum(1) / matrix.sum())


def reference_explicitness(codes, factors):
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.preprocessing import LabelBinarizer, StandardScaler

    scaler = StandardScaler().fit(codes[:TRAIN])
    x, x_test = scaler.transform(codes[:TRAIN]), scaler.transform(codes[TRAIN:])
    areas = []
    for f in range(factors.shape[1]):
        model = LogisticRegression().fit(x, factors[:TRAIN, f])
        probability = model.predict_proba(x_test)
        binary = LabelBinarizer().fit(factors[:TRAIN, f]).transform(factors[TRAIN:, f])
        areas.append(roc_auc_score(binary, probability if binary.shape[1] > 1 else probability[:, 1]))
        roc_auc_score(LabelBinarizer().fit_transform(factors[:TRAIN, f]), _columns(model.predict_proba(x)))
    return np.mean(areas)


def _columns(probability):
    return probability if probability.shape[1] > 2 else probability[:, 1]


def reference_irs(codes, factors):
    largest = np.max(np.abs(codes - codes.mean(0)), 0)
    deviation = np.zeros((codes.shape[1], factors.shape[1]))
    for f in range(factors.shape[1]):
        values = np.unique(factors[:, f])
        for value in values:
            here = codes[factors[:, f] == value]
            deviation[:, f] += np.percentile(np.abs(here - here.mean(0)), 99, axis=0)
        deviation[:, f] /= len(values)
    return np.average((1 - deviation / largest[:, None]).max(1), weights=largest)


def reference_beta_vae(batches=15_000, size=64):
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    features, shared = [], []
    for _ in range(batches):
        f = rng.integers(len(SIZES))
        first = np.stack([rng.integers(s, size=size) for s in SIZES], 1)
        second = np.stack([rng.integers(s, size=size) for s in SIZES], 1)
        second[:, f] = first[:, f]
        features.append(np.mean(np.abs(make_codes(first, rng) - make_codes(second, rng)), 0))
        shared.append(f)
    cut = 2 * batches // 3
    model = LogisticRegression().fit(np.array(features[:cut]), shared[:cut])
    return model.score(np.array(features[cut:]), shared[cut:])


def reference_factor_vae(batches=15_000, size=64):
    rng = np.random.default_rng(0)
    scale = draw({}, 10_000, rng).var(0, ddof=1)
    votes = np.zeros((2, LATENTS, len(SIZES)))
    for batch in range(batches):
        f = rng.integers(len(SIZES))
        codes = draw({f: rng.integers(SIZES[f])}, size, rng)
        votes[int(batch >= 2 * batches // 3), np.argmin(codes.var(0, ddof=1) / scale), f] += 1
    chosen = votes[0].argmax(1)
    return votes[1][np.arange(LATENTS), chosen].sum() / votes[1].sum()


def reference_infomec(codes, factors):
    from sklearn.feature_selection import mutual_info_classif
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.preprocessing import StandardScaler

    matrix, entropy = np.zeros((codes.shape[1], factors.shape[1])), []
    x = StandardScaler().fit_transform(codes)
    for f in range(factors.shape[1]):
        for k in range(codes.shape[1]):
            matrix[k, f] = mutual_info_classif(codes[:, k : k + 1], factors[:, f], n_neighbors=10)[0]
        p = np.bincount(factors[:, f]) / len(factors)
        entropy.append(-(p * np.log(p)).sum())
        model = LogisticRegression(C=np.inf, max_iter=100).fit(x, factors[:, f])
        1 - log_loss(factors[:, f], model.predict_proba(x)) / entropy[-1]
    nmi = matrix / np.array(entropy)
    share = nmi.max(1) / nmi.sum(1)
    return np.mean((share - 1 / len(SIZES)) / (1 - 1 / len(SIZES)))


def reference_gaussian_tc(codes, _):
    covariance = np.cov(codes, rowvar=False)
    return 0.5 * (np.log(np.diag(covariance)).sum() - np.linalg.slogdet(covariance)[1])


def timed(work):
    """The value, and the seconds it took: of processor time, where other programs do not count, and on the clock."""
    processor, clock = time.process_time(), time.perf_counter()
    value = float(work())
    return value, np.array([time.process_time() - processor, time.perf_counter() - clock])


def rows(codes, factors, full: bool):
    """(name, reference work, factor to multiply its time by, our work)."""
    trees, loops = (100, 15_000) if full else (5, 1_500)
    m = metrics
    return [
        ("mig", lambda: reference_mig(codes, factors), 1, lambda: m.mig(codes, factors)),
        ("modularity", lambda: reference_modularity(codes, factors), 1, lambda: m.modularity(codes, factors)),
        ("mig_sup", lambda: reference_mig_sup(codes, factors), 1, lambda: m.mig_sup(codes, factors)),
        ("jemmig", lambda: reference_jemmig(codes, factors), 1, lambda: m.jemmig(codes, factors)),
        ("dcimig", lambda: reference_dcimig(codes, factors), 1, lambda: m.dcimig(codes, factors)),
        ("sap", lambda: reference_sap(codes, factors), 1, lambda: m.sap(codes, factors)),
        (
            "sap, continuous",
            lambda: reference_sap_continuous(codes, factors),
            1,
            lambda: m.sap(codes, factors, continuous=True),
        ),
        (
            "dci",
            lambda: reference_dci(codes, factors, trees),
            100 // trees,
            lambda: m.dci(codes, factors, protocol="dlib-2019-fast-ties"),
        ),
        ("explicitness", lambda: reference_explicitness(codes, factors), 1, lambda: m.explicitness(codes, factors)),
        ("irs", lambda: reference_irs(codes, factors), 1, lambda: m.irs(codes, factors)),
        ("beta_vae", lambda: reference_beta_vae(loops), 15_000 // loops, lambda: m.beta_vae(None, factors, draw=draw)),
        (
            "factor_vae",
            lambda: reference_factor_vae(loops),
            15_000 // loops,
            lambda: m.factor_vae(None, factors, draw=draw),
        ),
        ("infomec", lambda: reference_infomec(codes, factors), 1, lambda: m.infomec(codes, factors)),
        (
            "gaussian_tc",
            lambda: reference_gaussian_tc(codes, factors),
            1,
            lambda: m.gaussian_tc(codes, draws=0),
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="run the whole reference instead of extrapolating")
    full = parser.parse_args().full
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(size, size=ROWS) for size in SIZES], 1)
    codes = make_codes(factors, rng)
    metrics.evaluate(codes[:60], factors[:60] % 2)  # imports and first calls are not what is timed
    totals = np.zeros((2, 2))
    print(f"n={ROWS} latents={LATENTS} factors={SIZES}" + ("" if full else "  (x20, x10: reference extrapolated)"))
    print(f"{'metric':16} {'reference':>10} {'partita':>10} {'ratio':>7}   {'value there':>11} {'value here':>10}")
    for name, reference, times, ours in rows(codes, factors, full):
        there, seconds = timed(reference)
        here, own = timed(ours)
        totals += np.array([seconds * times, own])
        seconds, own = seconds[0], own[0]
        mark = "" if times == 1 else f" (x{times})"
        note = "-" if name == "dci" and times > 1 else f"{there:.4f}"
        ratio = seconds * times / max(own, 1e-9)
        print(f"{name:16} {seconds * times:9.2f}s {own:9.3f}s {ratio:7.1f}   {note:>11} {here:10.4f}{mark}")
    for kind, (there, here) in zip(("all", "all, on the clock"), totals.T):
        print(f"{kind:16} {there:9.2f}s {here:9.3f}s {there / here:7.1f}")
    ties(codes, factors)
    logged(codes, factors)


def ties(codes: np.ndarray, factors: np.ndarray) -> None:
    """What drawing DCI's ties costs, and what it is for: latents that are copies of each other."""
    copied = np.concatenate([codes[:, :5], codes[:, :5]], 1)
    for name, z in (("codes", codes), ("copies", copied)):
        (plain, first), (drawn, second) = (
            timed(lambda p=p, z=z: metrics.dci(z, factors, protocol=p).parts["completeness"])
            for p in ("dlib-2019-fast", "dlib-2019-fast-ties")
        )
        cost = second[0] / first[0]
        print(f"dci, ties drawn, {name}: {cost:.2f} times the time; completeness {plain:.3f} without, {drawn:.3f} with")


def logged(codes: np.ndarray, factors: np.ndarray) -> None:
    """What is cheap enough to log while training."""
    truth = factors.astype(float)
    cheap = {
        "mig": lambda: metrics.mig(codes, factors).value,
        "sap, continuous": lambda: metrics.sap(codes, factors, continuous=True).value,
        "modularity": lambda: metrics.modularity(codes, factors).value,
        "gaussian_tc": lambda: metrics.gaussian_tc(codes, draws=0).value,
        "align": lambda: structure.align(codes, truth, (2,) * 5, (2,) * 3).r2,
    }
    times = {name: min(timed(work)[1][0] for _ in range(5)) for name, work in cheap.items()}
    print("to log while training, ms: " + "  ".join(f"{name} {1000 * t:.1f}" for name, t in times.items()))
    print(f"together {1000 * sum(times.values()):.1f} ms")


if __name__ == "__main__":
    main()
