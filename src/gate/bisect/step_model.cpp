#include "gate/bisect/step_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "gate/bisect/matrix.h"

namespace gprof {
namespace {

// Before anything is measured: that nothing changed, or twice.
constexpr double kNonePrior = 0.04, kTwoPrior = 0.01;
// Spread of the noise, and how well that is known beforehand (spreads of its logarithm).
constexpr double kUsualNoise = 0.02, kNoiseSpread = 0.7;
constexpr std::array kNoises = {0.001, 0.003, 0.006, 0.01, 0.015, 0.02, 0.03, 0.06};
// The pace of the drift, in spreads of the noise a run, and how far a straight line of it goes.
constexpr std::array kWalks = {0.0, 0.04, 0.15};
constexpr std::array kWalkPriors = {0.6, 0.3, 0.1};
constexpr double kSlope = 0.1;
constexpr double kLevel = 1e3;  // nothing is known of the level
// Usual sizes of steps, in those that count.
constexpr std::array kStepSizes = {1.2, 4.0, 16.0};
constexpr double kNegligible = 14;  // nats

double SquareOf(double x) { return x * x; }

// The spans that the runs tell apart, and which of them each run is behind.
struct SpanLayout {
  std::vector<StepSpan> spans;     // in order
  std::vector<std::size_t> ranks;  // [run]: so many spans lie before it
};

SpanLayout LayOut(std::span<const StepRun> runs, const StepRules& rules) {
  std::vector<std::size_t> places;
  for (const StepRun& run : runs) places.push_back(run.place);
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  SpanLayout layout;
  for (std::size_t i = 1; i < places.size(); ++i) {
    StepSpan span{places[i - 1], places[i], 0};
    for (std::size_t place = span.from + 1; place <= span.to; ++place) span.weight += rules.weights[place];
    layout.spans.push_back(span);
  }
  for (const StepRun& run : runs) {
    const auto at = std::lower_bound(places.begin(), places.end(), run.place);
    layout.ranks.push_back(static_cast<std::size_t>(at - places.begin()));
  }
  return layout;
}

// All that the runs say, for one pace of the drift: the noise is a factor.
struct Gathered {
  double log_determinant = 0, square = 0;  // of the figures
  Matrix steps{0, 0};                      // [k][l]: of a step at span k with one at l
  std::vector<double> with;                // [k]: of a step at k with the figures
  std::vector<double> next;                // [k]: with the next run
  double next_variance = 1;
};

double Covariance(std::size_t i, std::size_t j, double walk) {
  const double ti = static_cast<double>(i) + 1, tj = static_cast<double>(j) + 1;
  return SquareOf(kLevel) + SquareOf(kSlope) * ti * tj + SquareOf(walk) * std::min(ti, tj);
}

Gathered Gather(std::span<const StepRun> runs, const SpanLayout& layout, double walk) {
  const std::size_t n = runs.size(), ranks = layout.spans.size() + 1;
  Matrix covariance(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) covariance.at(i, j) = Covariance(i, j, walk) + (i == j ? 1 : 0);
  }
  Gathered out;
  const Matrix inverse = InverseOf(std::move(covariance), &out.log_determinant);
  out.steps = Matrix(ranks, ranks);
  out.with.resize(ranks);
  out.next.resize(ranks);
  out.next_variance = 1 + Covariance(n, n, walk);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t rank = layout.ranks[i];
    for (std::size_t j = 0; j < n; ++j) {
      const double weight = inverse.at(i, j);
      out.steps.at(rank, layout.ranks[j]) += weight;
      out.with[rank] += weight * runs[j].y;
      out.next[rank] += weight * Covariance(n, j, walk);
      out.square += runs[i].y * weight * runs[j].y;
      out.next_variance -= Covariance(n, i, walk) * weight * Covariance(n, j, walk);
    }
  }
  // The step of span k is in all runs behind it, whose rank is k + 1 or higher.
  SumFromTheEnd(&out.steps);
  SumFromTheEnd(&out.with);
  SumFromTheEnd(&out.next);
  return out;
}

struct GridCell {
  std::size_t walk = 0;
  double noise = 0, size = 0, log_prior = 0;
};

std::vector<GridCell> AllCells(double min_step) {
  std::vector<GridCell> cells;
  for (std::size_t walk = 0; walk < kWalks.size(); ++walk) {
    for (const double noise : kNoises) {
      const double away = std::log(noise / kUsualNoise) / kNoiseSpread;
      for (const double size : kStepSizes) {
        cells.push_back({walk, noise, size * min_step, std::log(kWalkPriors[walk]) - SquareOf(away) / 2});
      }
    }
  }
  return cells;
}

// Evidence for steps, over that for none, and what their sizes are then.
struct StepEvidence {
  double log_ratio = 0;
  std::array<StepEstimate, 2> steps{};
};

StepEvidence JudgeOne(const Gathered& gathered, const GridCell& cell, std::size_t k) {
  const double a = gathered.steps.at(k + 1, k + 1) / SquareOf(cell.noise),
               b = gathered.with[k + 1] / SquareOf(cell.noise);
  const double size2 = SquareOf(cell.size), v = 1 / (a + 1 / size2), m = v * b;
  return {-std::log1p(a * size2) / 2 + m * b / 2 + std::log((SquareOf(m) + v) / size2), {{{m, v}, {}}}};
}

StepEvidence JudgeTwo(const Gathered& gathered, const GridCell& cell, std::size_t k, std::size_t l) {
  const double noise2 = SquareOf(cell.noise), size2 = SquareOf(cell.size);
  const double akk = gathered.steps.at(k + 1, k + 1) / noise2 + 1 / size2,
               all = gathered.steps.at(l + 1, l + 1) / noise2 + 1 / size2;
  const double akl = gathered.steps.at(k + 1, l + 1) / noise2, determinant = akk * all - SquareOf(akl);
  const double bk = gathered.with[k + 1] / noise2, bl = gathered.with[l + 1] / noise2;
  const double vkk = all / determinant, vll = akk / determinant, vkl = -akl / determinant;
  const double mk = vkk * bk + vkl * bl, ml = vkl * bk + vll * bl;
  const double moment = (SquareOf(mk) + vkk) * (SquareOf(ml) + vll) + 2 * SquareOf(vkl) + 4 * mk * ml * vkl;
  const double log_ratio = -std::log(determinant * SquareOf(size2)) / 2 + (mk * bk + ml * bl) / 2 +
                           std::log(std::max(moment, std::numeric_limits<double>::min()) / SquareOf(size2));
  return {log_ratio, {{{mk, vkk}, {ml, vll}}}};
}

// The evidence for one explanation, summed over the grid.
class EvidenceSum {
 public:
  void Add(double log_weight, const std::array<StepEstimate, 2>& steps) {
    if (log_weight > best_) {
      sum_ *= std::exp(best_ - log_weight);
      best_ = log_weight;
      steps_ = steps;
    }
    sum_ += std::exp(log_weight - best_);
  }
  double Over(double log_unit) const { return sum_ == 0 ? 0 : sum_ * std::exp(best_ - log_unit); }
  double best() const { return best_; }
  const std::array<StepEstimate, 2>& steps() const { return steps_; }

 private:
  double best_ = std::numeric_limits<double>::lowest(), sum_ = 0;
  std::array<StepEstimate, 2> steps_{};
};

class StepModel {
 public:
  StepModel(std::span<const StepRun> runs, const StepRules& rules)
      : runs_(runs), rules_(rules), layout_(LayOut(runs, rules)), cells_(AllCells(rules.min_step)) {
    for (const double walk : kWalks) gathered_.push_back(Gather(runs, layout_, walk));
    for (const GridCell& cell : cells_) none_.push_back(LogOfNone(cell));
    for (const StepSpan& span : layout_.spans) weight_ += span.weight;
  }

  StepPosterior Run() {
    JudgeNone();
    for (std::size_t k = 0; k < layout_.spans.size(); ++k) JudgeSingle(k);
    for (std::size_t k = 0; k < layout_.spans.size(); ++k) {
      for (std::size_t l = k; l < layout_.spans.size(); ++l) JudgePair(k, l);
    }
    return Normalized();
  }

 private:
  double LogOfNone(const GridCell& cell) const {
    const Gathered& gathered = gathered_[cell.walk];
    return cell.log_prior - static_cast<double>(runs_.size()) * std::log(cell.noise) - gathered.log_determinant / 2 -
           gathered.square / (2 * SquareOf(cell.noise));
  }

  void NoteBest(double log_weight, std::size_t cell) {
    if (log_weight <= best_) return;
    best_ = log_weight;
    best_cell_ = &cells_[cell];
  }

  void Keep(std::size_t count, std::size_t k, std::size_t l, const EvidenceSum& sum) {
    explanations_.push_back({count, {k, l}, sum.steps(), 0});
    sums_.push_back(sum);
  }

  void JudgeNone() {
    EvidenceSum sum;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      sum.Add(none_[i] + std::log(kNonePrior), {});
      NoteBest(none_[i] + std::log(kNonePrior), i);
    }
    Keep(0, 0, 0, sum);
  }

  void JudgeSingle(std::size_t k) {
    const double prior = std::log((1 - kNonePrior - kTwoPrior) * layout_.spans[k].weight / weight_);
    EvidenceSum sum;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const StepEvidence judged = JudgeOne(gathered_[cells_[i].walk], cells_[i], k);
      const double log_weight = none_[i] + prior + judged.log_ratio;
      sum.Add(log_weight, judged.steps);
      NoteBest(log_weight, i);
    }
    Keep(1, k, k, sum);
  }

  // How many pairs of places there are, of those of all spans.
  double ShareOfPairs(std::size_t k, std::size_t l) const {
    const double product = layout_.spans[k].weight * layout_.spans[l].weight;
    return (k == l ? product - layout_.spans[k].weight : 2 * product) / SquareOf(weight_);
  }

  // No size of steps explains more than this, which saves most of the work.
  static double MostGain(const Gathered& gathered, std::size_t k, std::size_t l) {
    const double a = gathered.steps.at(k + 1, k + 1), b = gathered.steps.at(l + 1, l + 1);
    const double c = gathered.steps.at(k + 1, l + 1), x = gathered.with[k + 1], y = gathered.with[l + 1];
    const double determinant = a * b - c * c;
    if (determinant < 1e-9 * a * b) return std::numeric_limits<double>::infinity();
    return (b * x * x - 2 * c * x * y + a * y * y) / determinant / 2;
  }

  void JudgePair(std::size_t k, std::size_t l) {
    const double share = ShareOfPairs(k, l);
    if (share <= 0) return;
    const double prior = std::log(kTwoPrior * share);
    std::array<double, kWalks.size()> most{};
    for (std::size_t walk = 0; walk < most.size(); ++walk) most[walk] = MostGain(gathered_[walk], k, l);
    EvidenceSum sum;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const GridCell& cell = cells_[i];
      if (none_[i] + prior + most[cell.walk] / SquareOf(cell.noise) < best_ - kNegligible) continue;
      const StepEvidence judged = JudgeTwo(gathered_[cell.walk], cell, k, l);
      sum.Add(none_[i] + prior + judged.log_ratio, judged.steps);
      NoteBest(none_[i] + prior + judged.log_ratio, i);
    }
    Keep(2, k, l, sum);
  }

  // The place in a span that has most of its weight.
  std::size_t PlaceIn(const StepSpan& span) const {
    std::size_t best = span.to;
    for (std::size_t place = span.from + 1; place < span.to; ++place) {
      if (rules_.weights[place] > rules_.weights[best]) best = place;
    }
    return best;
  }

  StepPosterior Normalized() {
    double total = 0;
    for (const EvidenceSum& sum : sums_) total += sum.Over(best_);
    StepPosterior out;
    out.any.assign(rules_.weights.size(), 0);
    for (std::size_t h = 0; h < explanations_.size(); ++h) {
      explanations_[h].probability = sums_[h].Over(best_) / total;
      Spread(explanations_[h], &out);
    }
    out.none = explanations_.front().probability;
    out.spans = layout_.spans;
    out.explanations = std::move(explanations_);
    out.noise = best_cell_->noise;
    const Gathered& gathered = gathered_[best_cell_->walk];
    out.share_beyond.assign(gathered.next.begin() + 1, gathered.next.end());
    out.next_variance = gathered.next_variance * SquareOf(out.noise);
    return out;
  }

  // Over the places of its spans.
  void Spread(const StepExplanation& explanation, StepPosterior* out) const {
    StepAnswer answer{explanation.count, {}, explanation.steps, explanation.probability};
    for (std::size_t s = 0; s < explanation.count; ++s) {
      const StepSpan& span = layout_.spans[explanation.spans[s]];
      for (std::size_t place = span.from + 1; place <= span.to; ++place) {
        out->any[place] += explanation.probability * rules_.weights[place] / span.weight;
      }
      answer.places[s] = PlaceIn(span);
      answer.probability *= rules_.weights[answer.places[s]] / span.weight;
    }
    if (answer.probability > out->answer.probability) out->answer = answer;
  }

  std::span<const StepRun> runs_;
  const StepRules& rules_;
  SpanLayout layout_;
  std::vector<GridCell> cells_;
  std::vector<Gathered> gathered_;  // for each pace of the drift
  std::vector<double> none_;        // [cell]: log of the evidence for no step
  double weight_ = 0;
  std::vector<StepExplanation> explanations_;
  std::vector<EvidenceSum> sums_;  // of each explanation
  double best_ = std::numeric_limits<double>::lowest();
  const GridCell* best_cell_ = nullptr;
};

// A mixture of normal distributions, of what the next run is expected to be.
struct Mixture {
  double weight = 0, mean = 0, square = 0, log_variance = 0;
  void Add(double share, double at, double variance) {
    weight += share;
    mean += share * at;
    square += share * (variance + SquareOf(at));
    log_variance += share * std::log(variance);
  }
  // How much a draw tells of which of them it is from, as if the mixture were normal.
  double Information() const {
    const double variance = square / weight - SquareOf(mean / weight);
    return (std::log(variance) - log_variance / weight) / 2;
  }
};

}  // namespace

double InformationAt(std::size_t place, const StepPosterior& posterior, const StepRules& rules) {
  Mixture mixture;
  for (const StepExplanation& explanation : posterior.explanations) {
    if (explanation.probability < 1e-6) continue;
    // Where the place is within a span, so far it may be before the step or behind it.
    double behind = 1;
    for (std::size_t s = 0; s < explanation.count; ++s) {
      const StepSpan& span = posterior.spans[explanation.spans[s]];
      if (place <= span.from || place >= span.to) continue;
      behind = 0;
      for (std::size_t i = span.from + 1; i <= place; ++i) behind += rules.weights[i] / span.weight;
    }
    for (const bool is_behind : {true, false}) {
      double mean = 0, variance = posterior.next_variance;
      for (std::size_t s = 0; s < explanation.count; ++s) {
        const StepSpan& span = posterior.spans[explanation.spans[s]];
        const bool has_step = place >= span.to || (place > span.from && is_behind);
        const double beyond = (has_step ? 1 : 0) - posterior.share_beyond[explanation.spans[s]];
        mean += beyond * explanation.steps[s].mean;
        variance += SquareOf(beyond) * explanation.steps[s].variance;
      }
      mixture.Add(explanation.probability * (is_behind ? behind : 1 - behind), mean, variance);
    }
  }
  return mixture.Information();
}

StepPosterior JudgeSteps(std::span<const StepRun> runs, const StepRules& rules) { return StepModel(runs, rules).Run(); }

}  // namespace gprof
