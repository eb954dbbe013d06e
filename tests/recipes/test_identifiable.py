"""Methods with labels: the identities X24 to X28 (docs/glossary.md), and what each paper says must show."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from partita.distributions import STANDARD_NORMAL
from partita.measures.elbo import kl, reconstruction
from partita.recipes import RECIPES, Player
from partita.trace import Trace
from partita.training import Ensemble, Model, fit

CPU = torch.device("cpu")
HOUSE = {"latents": 4, "shape": (7,), "network": "mlp", "hidden": (9,), "likelihood": "gaussian:0.5", "labels": 2}
SMALL = {"prior_width": 8, "prior_depth": 2}
LABELLED = ("full_vae", "ivae", "idvae", "ss_ivae", "ss_idvae")


def data():
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(40, 7, generator=generator)
    return x, torch.rand(40, 2, generator=generator), torch.arange(40) % 3 == 0


def losses(recipe, labelled=None, constant_prior=False):
    """Each player's loss, quantities and gradients by parameter name, on one batch, in float64.

    `constant_prior` sets the last layer of p(z|u) to 0, so that it is N(0, I).
    """
    x, u, _ = data()
    shown = torch.ones(40) if labelled is None else labelled
    ensemble = Ensemble([recipe], [3], x, u=u.numpy(), labelled=shown.numpy(), batch_size=16, device=CPU)
    ensemble.modules = {name: module.double() for name, module in ensemble.modules.items()}
    parameters = {name: p.detach().double() for name, p in ensemble.parameters.items()}
    if constant_prior:
        last = [name for name in parameters if name.startswith("prior.")][-2:]
        parameters |= {name: torch.zeros_like(parameters[name]) for name in last}
    parameters = {name: p.requires_grad_() for name, p in parameters.items()}
    rows = {name: value.double() for name, value in ensemble._observe(ensemble.draws.index(0, 1)[0]).items()}
    shared = torch.randn(1, 16, 40, generator=torch.Generator().manual_seed(6), dtype=torch.float64)
    found = []
    for turn in range(len(recipe.players)):
        noise = shared[..., : ensemble.draws.columns]
        loss, quantities, _ = ensemble._batched(turn)(parameters, {}, rows, noise, ensemble.values(0, 1)[0].double())
        gradients = torch.autograd.grad(loss.sum(), list(parameters.values()), allow_unused=True)
        found.append((loss.item(), {k: q.item() for k, q in quantities.items()}, dict(zip(parameters, gradients))))
    return found


def made(method, **options):
    small = SMALL if method not in ("full_vae", "beta_vae") else {}
    return RECIPES[method](**small, **options, **HOUSE)


def assert_same(one, other, *networks):
    for name, gradient in one.items():
        if name.split(".")[0] in networks:
            torch.testing.assert_close(gradient, other[name], rtol=1e-9, atol=1e-11)


def stepped(recipe, steps=3):
    """Parameters after a few steps."""
    x, u, _ = data()
    ensemble = Ensemble([recipe], [3], x, u=u.numpy(), batch_size=16, device=CPU)
    before = {name: p.detach().clone() for name, p in ensemble.parameters.items()}
    ensemble.advance(steps)
    return before, ensemble.parameters


class TestX24:
    def test_the_x_part_never_moves_the_prior(self):
        """With the prior's own player gone, a step moves encoder and decoder alone; joined to them, the prior too."""
        recipe = made("idvae", beta=2.0)
        before, after = stepped(replace(recipe, players=recipe.players[:1]))
        moved = {name.split(".")[0] for name in before if not torch.equal(before[name], after[name])}
        assert moved == {"encoder", "decoder"}
        x_part = losses(made("idvae", beta=2.0))[0]
        assert any(g.abs().max() > 1e-6 for n, g in x_part[2].items() if n.startswith("prior."))  # but owned by others

    def test_encoder_and_decoder_move_as_in_ivae(self):
        idvae, ivae = losses(made("idvae", beta=2.0))[0], losses(made("ivae", beta=2.0))[0]
        assert idvae[0] == pytest.approx(ivae[0], rel=1e-12)
        assert_same(idvae[2], ivae[2], "encoder", "decoder")

    def test_the_two_parts_are_trained_apart_with_the_same_result(self):
        recipe = made("idvae", beta=2.0)
        _, together = stepped(recipe)
        _, alone = stepped(replace(recipe, players=recipe.players[1:2]))
        for name, p in together.items():
            if name.split(".")[0] in ("prior", "label_decoder"):
                assert torch.equal(p, alone[name])

    def test_joint_training_adds_both_parts(self):
        joint = losses(made("idvae", beta=2.0, conditional_prior="joint"))[0]
        x_part, u_part, _ = losses(made("idvae", beta=2.0))
        assert joint[0] == pytest.approx(x_part[0] + u_part[0], rel=1e-12)
        total = {name: x_part[2][name] + u_part[2][name] for name in joint[2] if name.startswith("prior.")}
        assert_same(joint[2], total, "prior")

    def test_the_predictor_moves_nothing_else(self):
        for method in ("ivae", "idvae"):
            recipe = made(method)
            assert recipe.players[-1].owns == ("predictor",)
            before, after = stepped(replace(recipe, players=recipe.players[-1:]))
            moved = {name.split(".")[0] for name in before if not torch.equal(before[name], after[name])}
            assert moved == {"predictor"}


@dataclass(frozen=True)
class SeesLabels:
    """A beta-VAE whose encoder is given u, written here by hand."""

    def __call__(self, networks, batch, noise, knobs):
        q = networks["encoder"](batch.x, batch.u)
        return Trace(batch, noise, knobs, networks, q, q.sample(noise["z"]), STANDARD_NORMAL)


@pytest.mark.parametrize("method", ["idvae", "ivae"])
def test_x25_x26_a_constant_prior_is_the_beta_vae(method):
    recipe = made(method, beta=3.0)
    plain = Player(("encoder", "decoder"), (reconstruction, kl), {"recon": 1, "kl": 3.0})
    by_hand = losses(replace(recipe, players=(plain,), trace=SeesLabels()))[0]
    found = losses(recipe, constant_prior=True)[0]
    assert found[0] == pytest.approx(by_hand[0], rel=1e-12)
    assert found[1]["conditional_kl"] == pytest.approx(by_hand[1]["kl"], rel=1e-12)
    assert_same(found[2], by_hand[2], "encoder", "decoder")


def test_x27_full_vae_without_supervision_is_the_beta_vae():
    full, beta = losses(made("full_vae", beta=2.0, gamma_sup=0.0))[0], losses(made("beta_vae", beta=2.0))[0]
    assert full[0] == pytest.approx(beta[0], rel=1e-12)
    assert_same(full[2], beta[2], "encoder", "decoder")


def test_x28_all_labelled_and_no_predictor_term_is_idvae():
    semi, prior = losses(made("ss_idvae", beta=2.0, alpha=0.0))
    x_part, u_part, _ = losses(made("idvae", beta=2.0))
    assert semi[0] == pytest.approx(x_part[0] + u_part[0], rel=1e-12)
    assert prior[0] == pytest.approx(u_part[0], rel=1e-12)
    assert_same(semi[2], x_part[2], "encoder", "decoder")
    assert_same(prior[2], u_part[2], "prior", "label_decoder")
    assert all(g is None or g.abs().max() == 0 for n, g in semi[2].items() if n.startswith("predictor."))


def test_x28_for_ivae():
    semi, full = losses(made("ss_ivae", beta=2.0, alpha=0.0))[0], losses(made("ivae", beta=2.0))[0]
    assert semi[0] == pytest.approx(full[0], rel=1e-12)
    assert_same(semi[2], full[2], "encoder", "decoder", "prior")


@pytest.mark.parametrize("method", ["ss_ivae", "ss_idvae"])
def test_rows_without_labels_do_not_look_at_them(method):
    """Semi-supervision is a mask: what stands in the hidden rows must not matter."""
    x, u, shown = data()
    recipe = made(method)
    found = []
    for filler in (0.1, 0.9):
        ours = torch.where(shown[:, None], u, filler)
        ensemble = Ensemble([recipe], [3], x, u=ours.numpy(), labelled=shown.numpy(), batch_size=16, device=CPU)
        ensemble.advance(3)
        found.append(ensemble.read_quantities(3))
    np.testing.assert_array_equal(*found)


def test_the_entropy_of_guessed_labels_is_rewarded():
    """Eq. 23 with the right sign: the loss falls as H rises."""
    _, _, shown = data()
    (first, *_) = losses(made("ss_ivae", alpha=0.0), labelled=shown.float())
    rest = first[1]["recon"] + first[1]["conditional_kl"]
    assert first[0] == pytest.approx(rest - first[1]["label_entropy"], rel=1e-12)


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        ("full_vae", {"latents": 1}, "2 labels need as many latents, got 1"),
        ("idvae", {"conditional_prior": "alone"}, "must be 'isolated' or 'joint', got 'alone'"),
        ("idvae", {"u_decoder_var": 0.0}, "u_decoder_var must be a finite number above 0"),
        ("ivae", {"prior_width": 0}, "prior_width must be"),
    ],
)
def test_bad_options_are_named(method, options, words):
    with pytest.raises(ValueError, match=words):
        RECIPES[method](**{**HOUSE, **options})


@pytest.mark.parametrize("method", LABELLED)
def test_labels_must_be_there(method):
    x, u, _ = data()
    for given in (None, u[:, :1].numpy()):
        with pytest.raises(ValueError, match="needs labels u, 2 a row"):
            Ensemble([made(method)], [0], x, u=given, batch_size=16, device=CPU)


def trained(method, x, u, labelled=None, steps=600, seeds=(0,), **options):
    """Models of a method on these labels, and the history."""
    house = {"shape": x.shape[1:], "labels": u.shape[1], "network": "mlp", "hidden": (32,), "learning_rate": 5e-3}
    recipe = RECIPES[method](**house, **options)
    shown = np.ones(len(x)) if labelled is None else labelled
    runs = Ensemble([recipe] * len(seeds), list(seeds), x, u=u, labelled=shown, batch_size=100, device=CPU)
    history = fit(runs, steps, log_every=steps // 3)
    return [Model(recipe, runs.model(e)) for e in range(len(seeds))], history.of(0)


def uniform_labels(n=1000, m=2, seed=0):
    return np.random.default_rng(seed).uniform(0.01, 0.99, (n, m)).astype(np.float32)


@pytest.mark.parametrize(("variance", "expected"), [(0.5, 0.0), (0.01, 1.06)])
def test_the_decoder_variance_of_u_decides_everything(variance, expected, caplog):
    """Section 2.2: a uniform label has variance 1/12; its KL at the optimum is 1/2 log(v / s^2), or 0 and a warning."""
    u = uniform_labels(m=1)
    x = np.hstack([u, u**2, 1 - u]).astype(np.float32)
    _, history = trained("idvae", x, u, latents=1, u_decoder_var=variance, prior_width=64, prior_depth=1)
    assert history["prior_kl"][-1] == pytest.approx(expected, abs=0.12)
    assert ("collapsed" in caplog.text) == (expected == 0)


def correlations(codes, truth):
    both = np.corrcoef(codes.T, truth.T)
    return np.abs(both[: codes.shape[1], codes.shape[1] :])


def test_full_vae_names_its_latents():
    """Label j is read off latent j, and off no other; without supervision it is not."""
    u = uniform_labels()
    mixed = np.hstack([u, 1 - u]) @ np.random.default_rng(1).normal(size=(4, 6))
    x = (4 * mixed).astype(np.float32)
    (model,), _ = trained("full_vae", x, u, latents=2, gamma_sup=50.0)
    found = correlations(model.posterior(x)[0], u)
    assert found.diagonal().min() > 0.97
    assert found[[0, 1], [1, 0]].max() < 0.15
    (plain,), _ = trained("full_vae", x, u, latents=2, gamma_sup=0.0)
    assert correlations(plain.posterior(x)[0], u).diagonal().min() < 0.95


def modulated(n=4000, seed=0):
    """iVAE's world: u changes the variances of two sources, a rotation mixes them, so no VAE can tell them apart."""
    rng = np.random.default_rng(seed)
    u = rng.uniform(0, 1, (n, 2))
    sources = rng.normal(size=(n, 2)) * np.exp(2.5 * (u - 0.5))
    angle = np.pi / 4
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    mixing = np.vstack([rotation, 0.5 * rotation, np.eye(2) @ rotation])
    x = sources @ mixing.T + 0.5 * rng.normal(size=(n, 6))
    return x.astype(np.float32), (0.01 + 0.98 * u).astype(np.float32), sources


def recovery(codes, sources):
    """Mean correlation of sources and codes under the better of the two matchings."""
    found = correlations(codes, sources)
    return max(found.trace(), found[::-1].trace()) / 2


@pytest.mark.slow
def test_ivae_finds_the_sources_that_labels_modulate():
    """Every seed, told the labels or not; no VAE comes as close, and each seed ends at a rotation of its own."""
    x, u, sources = modulated()
    settings = {"latents": 2, "likelihood": "gaussian:0.25", "steps": 3000, "seeds": range(4)}
    models, _ = trained("ivae", x, u, prior_width=32, prior_depth=1, **settings)
    found = [recovery(model.posterior(x, *labels)[0], sources) for model in models for labels in ((), (u,))]
    assert min(found) > 0.97
    plain, _ = trained("vae", x, u, **settings)
    rotated = [recovery(model.posterior(x)[0], sources) for model in plain]
    assert max(rotated) < min(found) - 0.01
    assert np.ptp(rotated) > 10 * np.ptp(found)


def drawn_scenes(n=2000, seed=0):
    """Two labelled factors and one nuisance, entangled in x."""
    rng = np.random.default_rng(seed)
    u = uniform_labels(n, 2, seed)
    inside = np.hstack([6 * (u - 0.5), rng.normal(size=(n, 1))])
    mixing = np.random.default_rng(7).normal(size=(3, 8))
    return (inside @ mixing + 0.2 * rng.normal(size=(n, 8))).astype(np.float32), u


def explained(codes, u):
    """R2 of the labels, linearly from the codes."""
    design = np.hstack([codes, np.ones((len(codes), 1))])
    left = u - design @ np.linalg.lstsq(design, u, rcond=None)[0]
    return 1 - left.var(0) / u.var(0)


def split_by_prior(model, x, u, told=None):
    """R2 of the labels from the two latents that the conditional prior moves most, and from the third."""
    moved = model.networks["prior"](torch.as_tensor(u)).kl_each().mean(0).argsort(descending=True).numpy()
    codes = model.posterior(x, told)[0]
    return explained(codes[:, moved[:2]], u), explained(codes[:, moved[2:]], u)


def test_idvae_gives_labels_latents_of_their_own():
    """The learned prior is sufficient and minimal: two latents hold the two labels, the third the nuisance, with and
    without being told the labels. No pair of a VAE's latents does."""
    x, u = drawn_scenes()
    (model,), _ = trained("idvae", x, u, latents=3, prior_width=64, prior_depth=1)
    for told in (u, None):
        named, other = split_by_prior(model, x, u, told)
        assert named.min() > 0.95
        assert other.max() < 0.15
    (plain,), _ = trained("vae", x, u, latents=3)
    codes = plain.posterior(x)[0]
    assert max(explained(codes[:, [k for k in range(3) if k != left]], u).min() for left in range(3)) < 0.93


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ss_ivae", "ss_idvae"])
def test_few_labels_reach_the_other_rows(method):
    """A tenth of the rows labelled: labels of the others are predicted, and IDVAE's own latents hold them."""
    x, u = drawn_scenes()
    shown = np.arange(len(x)) % 10 == 0
    filled = np.where(shown[:, None], u, 0.5).astype(np.float32)
    (model,), _ = trained(method, x, filled, shown, steps=1000, latents=3, prior_width=64, prior_depth=1)
    predicted = model.networks["predictor"](torch.as_tensor(x)).median.numpy()
    assert explained(predicted[~shown], u[~shown]).min() > 0.95
    if method == "ss_idvae":
        named, other = split_by_prior(model, x[~shown], u[~shown])
        assert named.min() > 0.9
        assert other.max() < 0.3
