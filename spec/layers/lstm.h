// Stacked LSTM cells over a sequence, see docs/layers/lstm.md. Gates in the order i, f, g, o:
//   a_k = Wx_k x_t + Wh_k h_(t-1) + Wc_k c_(t-1) + b_k, with c_t for the gate o
//   c_t = f c_(t-1) + i g,  h_t = o phi(c_t)
// The reverse direction takes the steps from the last one on. Behind the end of a sample the state
// stays and the output is 0. The inputs of layers above the first are multiplied with given
// factors: what dropout kept and dropped.
#ifndef OPENBNNS_SPEC_LSTM_H
#define OPENBNNS_SPEC_LSTM_H

#include "layers/lstm_settings.h"

namespace spec::reference {

template <class T>
class Lstm {
 public:
  Lstm(const LstmSettings& settings, Values<T>& values) : s_(settings), v_(values) {}

  void forward() {
    tracks_.clear();
    std::vector<T> x = sequence(v_.value[LstmSettings::kX], s_.inputs);
    for (size_t l = 0; l < s_.layers; ++l) {
      std::vector<T> y(s_.rows() * s_.outputs());
      for (size_t d = 0; d < s_.directions(); ++d) {
        run(l, d, x, y);
        const Track& t = tracks_.back();
        for_states([&](size_t n, size_t h) {
          const size_t k = (s_.steps * s_.batch + n) * s_.hidden + h;
          state(v_.value[LstmSettings::kLastH], l, d, n, h) = t.h[k];
          state(v_.value[LstmSettings::kLastC], l, d, n, h) = t.c[k];
        });
      }
      x = y;
      if (l + 1 < s_.layers) drop(l, x);
    }
    write_sequence(v_.value[LstmSettings::kY], s_.outputs(), x);
  }

  void backward() {
    forward();
    for (size_t i = 0; i < v_.delta.size(); ++i)
      if (!s_.is_output(i)) std::fill(v_.delta[i].data().begin(), v_.delta[i].data().end(), T(0));
    std::vector<T> dy = sequence(v_.delta[LstmSettings::kY], s_.outputs());
    for (size_t l = s_.layers; l-- > 0;) {
      std::vector<Sum<T>> dx(s_.rows() * s_.inputs_of(l));
      for (size_t d = 0; d < s_.directions(); ++d) run_back(l, d, dy, dx);
      dy.resize(dx.size());
      for (size_t k = 0; k < dx.size(); ++k) dy[k] = dx[k].get();
      if (l > 0) drop(l - 1, dy);
    }
    write_sequence(v_.delta[LstmSettings::kX], s_.inputs, dy);
  }

 private:
  // One direction of a layer: inputs, sums of the gates, and states in the order in which the steps
  // are taken, from the initial ones on.
  struct Track {
    std::vector<T> x, a, h, c;
  };

  T& state(Array<T>& array, size_t l, size_t d, size_t n, size_t h) const {
    return array(0, position(array, {l, d, n, h}));
  }
  // The tensor of a gate that holds the matrix of inputs of a layer.
  T& input_weight(std::vector<Array<T>>& from, size_t k, size_t l, size_t d, size_t h,
                  size_t i) const {
    const bool upper = l > 0 && s_.splits();
    Array<T>& array = from[s_.operand(k, upper ? LstmSettings::kIwUpper : LstmSettings::kIw)];
    return array(0, position(array, {upper ? l - 1 : l, d, h, i}));
  }
  T& matrix(std::vector<Array<T>>& from, size_t k, LstmSettings::Part part, size_t l, size_t d,
            size_t h, size_t i) const {
    Array<T>& array = from[s_.operand(k, part)];
    return array(0, position(array, {l, d, h, i}));
  }
  T& bias(std::vector<Array<T>>& from, size_t k, size_t l, size_t d, size_t h) const {
    Array<T>& array = from[s_.operand(k, LstmSettings::kBias)];
    return array(0, position(array, {l, d, h}));
  }
  // An array of fewer axes has layers and directions as one, or lacks axes of one element.
  size_t position(const Array<T>& array, std::vector<size_t> at) const {
    const size_t rank = array.shape().rank();
    while (at.size() > rank) {
      at[1] += at[0] * s_.directions();
      at.erase(at.begin());
    }
    return array.position(at);
  }
  size_t place(const Array<T>& array, size_t step, size_t n, size_t i) const {
    return array.shape().layout == BNNSDataLayoutSNE ? array.position(Index{i, n, step})
                                                     : array.position(Index{i, step, n});
  }
  std::vector<T> sequence(const Array<T>& from, size_t width) const {
    std::vector<T> rows(s_.rows() * width);
    for (size_t t = 0; t < s_.steps; ++t)
      for (size_t n = 0; n < s_.batch; ++n)
        for (size_t i = 0; i < width; ++i)
          rows[(t * s_.batch + n) * width + i] = from(0, place(from, t, n, i));
    return rows;
  }
  void write_sequence(Array<T>& to, size_t width, const std::vector<T>& rows) const {
    for (size_t t = 0; t < s_.steps; ++t)
      for (size_t n = 0; n < s_.batch; ++n)
        for (size_t i = 0; i < width; ++i)
          to(0, place(to, t, n, i)) =
              s_.is_active(t, n) ? rows[(t * s_.batch + n) * width + i] : T(0);
  }
  void drop(size_t l, std::vector<T>& rows) const {
    if (s_.factors.empty()) return;
    for (size_t k = 0; k < rows.size(); ++k) rows[k] = rows[k] * T(s_.factors[l][k]);
  }
  template <class F>
  void for_states(const F& f) const {
    for (size_t n = 0; n < s_.batch; ++n)
      for (size_t h = 0; h < s_.hidden; ++h) f(n, h);
  }

  T apply(const LstmFunctionSetting& f, T x) const {
    return formula<T>(f.function).y(x, T(f.alpha), T(f.beta));
  }
  // From the result for the functions that saturate, as 1 - y loses digits there.
  T slope(const LstmFunctionSetting& f, T x) const {
    const Formula<T>& row = formula<T>(f.function);
    const bool usual =
        f.function == BNNSActivationFunctionSigmoid || f.function == BNNSActivationFunctionTanh;
    return usual ? row.from_y(apply(f, x), T(0), T(0)) : row.from_x(x, T(f.alpha), T(f.beta));
  }

  void run(size_t l, size_t d, const std::vector<T>& x, std::vector<T>& y) {
    const size_t hidden = s_.hidden, in = s_.inputs_of(l), all = s_.batch * hidden;
    Track t = {.x = x, .a = std::vector<T>(s_.steps * 4 * all), .h = {}, .c = {}};
    t.h.resize((s_.steps + 1) * all);
    t.c = t.h;
    for_states([&](size_t n, size_t h) {
      if (!s_.states) return;
      t.h[n * hidden + h] = state(v_.value[LstmSettings::kFirstH], l, d, n, h);
      t.c[n * hidden + h] = state(v_.value[LstmSettings::kFirstC], l, d, n, h);
    });
    for (size_t turn = 0; turn < s_.steps; ++turn) {
      const size_t step = s_.step(d, turn);
      const T *h0 = &t.h[turn * all], *c0 = &t.c[turn * all];
      T *h1 = &t.h[(turn + 1) * all], *c1 = &t.c[(turn + 1) * all], *a = &t.a[turn * 4 * all];
      const auto sum = [&](size_t k, size_t n, size_t h) {
        Sum<T> result;
        for (size_t i = 0; i < in; ++i)
          result.add(input_weight(v_.value, k, l, d, h, i), x[(step * s_.batch + n) * in + i]);
        for (size_t i = 0; i < hidden; ++i)
          result.add(matrix(v_.value, k, LstmSettings::kHw, l, d, h, i), h0[n * hidden + i]);
        const T* c = k == 3 ? c1 : c0;
        for (size_t i = 0; i < hidden && s_.has_peephole(k); ++i)
          result.add(matrix(v_.value, k, LstmSettings::kCw, l, d, h, i), c[n * hidden + i]);
        if (s_.bias) result.add(bias(v_.value, k, l, d, h));
        return a[k * all + n * hidden + h] = result.get();
      };
      for_states([&](size_t n, size_t h) {
        const size_t j = n * hidden + h;
        c1[j] = c0[j];
        if (!s_.is_active(step, n)) return;
        T gate[3];
        for (size_t k = 0; k < 3; ++k) gate[k] = apply(s_.function[k], sum(k, n, h));
        c1[j] = gate[1] * c0[j] + gate[0] * gate[2];
      });
      for_states([&](size_t n, size_t h) {
        const size_t j = n * hidden + h;
        h1[j] = h0[j];
        if (s_.is_active(step, n))
          h1[j] = apply(s_.function[3], sum(3, n, h)) * apply(s_.function[4], c1[j]);
        y[(step * s_.batch + n) * s_.outputs() + d * hidden + h] = h1[j];
      });
    }
    tracks_.push_back(t);
  }

  void run_back(size_t l, size_t d, const std::vector<T>& dy, std::vector<Sum<T>>& dx) {
    const Track& t = tracks_[l * s_.directions() + d];
    const size_t hidden = s_.hidden, in = s_.inputs_of(l), all = s_.batch * hidden;
    std::vector<T> dh(all), dc(all), da(s_.steps * 4 * all);
    for_states([&](size_t n, size_t h) {
      dh[n * hidden + h] = state(v_.delta[LstmSettings::kLastH], l, d, n, h);
      dc[n * hidden + h] = state(v_.delta[LstmSettings::kLastC], l, d, n, h);
    });
    for (size_t turn = s_.steps; turn-- > 0;) {
      const size_t step = s_.step(d, turn);
      for (size_t n = 0; n < s_.batch; ++n)
        if (s_.is_active(step, n)) cell_back(t, l, d, turn, n, dy, dh, dc, &da[turn * 4 * all]);
    }
    if (s_.states) {
      for_states([&](size_t n, size_t h) {
        state(v_.delta[LstmSettings::kFirstH], l, d, n, h) = dh[n * hidden + h];
        state(v_.delta[LstmSettings::kFirstC], l, d, n, h) = dc[n * hidden + h];
      });
    }
    for (size_t k = 0; k < 4; ++k)
      for (size_t h = 0; h < hidden; ++h) parameter_sums(t, l, d, k, h, da);
    for (size_t turn = 0; turn < s_.steps; ++turn)
      for (size_t n = 0; n < s_.batch; ++n)
        for (size_t i = 0; i < in; ++i)
          for (size_t k = 0; k < 4; ++k)
            for (size_t h = 0; h < hidden; ++h)
              dx[(s_.step(d, turn) * s_.batch + n) * in + i].add(
                  input_weight(v_.value, k, l, d, h, i),
                  da[turn * 4 * all + k * all + n * hidden + h]);
  }

  // One step of one sample: da of the four gates; dh and dc become those before the step.
  void cell_back(const Track& t, size_t l, size_t d, size_t turn, size_t n,
                 const std::vector<T>& dy, std::vector<T>& dh, std::vector<T>& dc, T* da) {
    const size_t hidden = s_.hidden, all = s_.batch * hidden, step = s_.step(d, turn);
    const T *a = &t.a[turn * 4 * all], *c0 = &t.c[turn * all], *c1 = &t.c[(turn + 1) * all];
    const auto at = [&](size_t k, size_t h) { return k * all + n * hidden + h; };
    for (size_t h = 0; h < hidden; ++h) {
      const size_t j = n * hidden + h;
      const T g = dh[j] + dy[(step * s_.batch + n) * s_.outputs() + d * hidden + h];
      const T phi = apply(s_.function[4], c1[j]), o = apply(s_.function[3], a[at(3, h)]);
      da[at(3, h)] = g * phi * slope(s_.function[3], a[at(3, h)]);
      dc[j] = dc[j] + g * o * slope(s_.function[4], c1[j]);
    }
    const auto through = [&](size_t k, LstmSettings::Part part, size_t i, Sum<T>& sum) {
      for (size_t h = 0; h < hidden; ++h)
        sum.add(matrix(v_.value, k, part, l, d, h, i), da[at(k, h)]);
    };
    for (size_t i = 0; i < hidden && s_.has_peephole(3); ++i) {
      Sum<T> sum;
      through(3, LstmSettings::kCw, i, sum);
      dc[n * hidden + i] = dc[n * hidden + i] + sum.get();
    }
    std::vector<T> before(hidden);
    for (size_t h = 0; h < hidden; ++h) {
      const size_t j = n * hidden + h;
      T gate[3];
      for (size_t k = 0; k < 3; ++k) gate[k] = apply(s_.function[k], a[at(k, h)]);
      const T other[3] = {gate[2], c0[j], gate[0]};
      for (size_t k = 0; k < 3; ++k)
        da[at(k, h)] = dc[j] * other[k] * slope(s_.function[k], a[at(k, h)]);
      before[h] = dc[j] * gate[1];
    }
    for (size_t i = 0; i < hidden; ++i) {
      Sum<T> sum, c_sum;
      for (size_t k = 0; k < 4; ++k) {
        through(k, LstmSettings::kHw, i, sum);
        if (k < 3 && s_.has_peephole(k)) through(k, LstmSettings::kCw, i, c_sum);
      }
      dh[n * hidden + i] = sum.get();
      dc[n * hidden + i] = before[i] + c_sum.get();
    }
  }

  // Gradients of row h of the matrices of gate k, over samples and steps.
  void parameter_sums(const Track& t, size_t l, size_t d, size_t k, size_t h,
                      const std::vector<T>& da) {
    const size_t hidden = s_.hidden, in = s_.inputs_of(l), all = s_.batch * hidden;
    const auto over_all = [&](const auto& factor) {
      Sum<T> sum;
      for (size_t turn = 0; turn < s_.steps; ++turn)
        for (size_t n = 0; n < s_.batch; ++n)
          if (s_.is_active(s_.step(d, turn), n))
            sum.add(da[turn * 4 * all + k * all + n * hidden + h], factor(turn, n));
      return sum.get();
    };
    for (size_t i = 0; i < in; ++i)
      input_weight(v_.delta, k, l, d, h, i) = over_all(
          [&](size_t turn, size_t n) { return t.x[(s_.step(d, turn) * s_.batch + n) * in + i]; });
    for (size_t i = 0; i < hidden; ++i) {
      matrix(v_.delta, k, LstmSettings::kHw, l, d, h, i) =
          over_all([&](size_t turn, size_t n) { return t.h[turn * all + n * hidden + i]; });
      if (!s_.has_peephole(k)) continue;
      matrix(v_.delta, k, LstmSettings::kCw, l, d, h, i) = over_all([&](size_t turn, size_t n) {
        return t.c[(turn + (k == 3 ? 1 : 0)) * all + n * hidden + i];
      });
    }
    if (s_.bias) bias(v_.delta, k, l, d, h) = over_all([](size_t, size_t) { return T(1); });
  }

  const LstmSettings& s_;
  Values<T>& v_;
  std::vector<Track> tracks_;
};

}  // namespace spec::reference

namespace spec {

inline Case lstm_case(const LstmSettings& s) {
  Case c{.layer = "lstm", .function = s.name, .shape = s.tag()};
  c.operands = lstm_operands(s);
  c.forward = [s]<class T>(Values<T>& v) { reference::Lstm<T>(s, v).forward(); };
  Backward backward{.name = "backward", .reference = [s]<class T>(Values<T>& v) {
                      reference::Lstm<T>(s, v).backward();
                    }};
  for (size_t i = 0; i < c.operands.size(); ++i)
    if (!s.is_output(i)) backward.deltas.push_back(i);
  c.backward = {backward};
  c.apply = [s](Call& call) {
    LstmCall lstm(s, call.value, nullptr);
    return lstm.forward(call.parameters, s.cached);
  };
  c.apply_backward = [s](Call& call) { return lstm_backward(s, call); };
  c.types = {same_type(c, BNNSDataTypeFloat32, Need::kRequired)};
  c.thorough = false;
  return c;
}

inline void add_lstm(Suite& suite) {
  for (const LstmSettings& s : lstm_settings()) {
    Case c = lstm_case(s);
    c.gradient = s.is_small();
    suite.cases.push_back(c);
  }
}

}  // namespace spec
#endif
