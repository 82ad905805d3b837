// Charts, busy buttons and the parameter map. No inline code, no eval: the page's policy allows neither.
(function () {
  "use strict";
  var drawn = [], charts = document.currentScript.dataset.charts, loading = false;

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }
  function percent(value) {
    var p = 100 * value;
    return +(p >= 10 ? p.toFixed(1) : p.toFixed(2)) + " %";
  }
  function plain(value) {
    return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(+(+value).toPrecision(4));
  }
  function axis(name, more) {
    return Object.assign({
      name: name, nameLocation: "middle", nameGap: 28,
      nameTextStyle: { color: colour("--soft") },
      axisLabel: { color: colour("--soft"), hideOverlap: true },
      axisLine: { lineStyle: { color: colour("--line") } },
      splitLine: { lineStyle: { color: colour("--hair") } }
    }, more);
  }
  function shared() {
    return {
      animation: false,
      color: ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7"].map(colour),
      textStyle: { color: colour("--ink"), fontFamily: "system-ui, sans-serif" },
      grid: { left: 12, right: 18, top: 16, bottom: 28, containLabel: true },
      tooltip: {
        renderMode: "richText", confine: true, backgroundColor: colour("--card"), borderColor: colour("--line"),
        textStyle: { color: colour("--ink"), fontSize: 13 }
      }
    };
  }

  // Lines over releases; limits are dashed. Shares are drawn in percent.
  function lines(data) {
    var show = data.percent ? percent : plain, option = shared();
    var high = 0;
    data.series.forEach(function (one) { one.values.forEach(function (v) { if (v !== null && v > high) high = v; }); });
    var limits = (data.limits || []).filter(function (one) { return one.always || one.value <= high * 2.5; });
    limits.forEach(function (one) { if (one.value > high) high = one.value; });
    var last = data.series.length - 1;
    option.series = data.series.map(function (one, i) {
      return {
        type: "line", name: one.name, data: one.values, itemStyle: one.slot ? { color: colour("--a" + one.slot) } : undefined, symbol: ["circle", "rect", "triangle", "diamond"][i % 4],
        symbolSize: data.x.length > 40 ? 3 : 7, lineStyle: { width: 2, type: i > 3 ? "dotted" : "solid" }, connectNulls: false,
        markLine: i === last && limits.length ? {
          symbol: "none", silent: true, lineStyle: { color: colour("--bad"), type: "dashed", width: 1.5 },
          label: { color: colour("--bad"), position: "insideEndTop", formatter: "{b}" },
          data: limits.map(function (one) { return { name: one.name, yAxis: one.value }; })
        } : undefined
      };
    });
    option.legend = { type: "scroll", top: 0, left: 0, textStyle: { color: colour("--ink") }, pageTextStyle: { color: colour("--soft") }, pageIconColor: colour("--accent") };
    option.grid.top = 44;
    option.xAxis = axis("release", { type: "category", data: data.x, boundaryGap: data.x.length === 1, splitLine: { show: false } });
    option.yAxis = axis("", { type: "value", min: 0, max: high > 0 ? (data.percent ? Math.min(1, high * 1.15) : high * 1.15) : 1 });
    option.yAxis.axisLabel.formatter = function (v) { return data.percent ? percent(v) : plain(v); };
    option.yAxis.axisLabel.showMaxLabel = false;
    option.tooltip.trigger = "axis";
    option.tooltip.valueFormatter = function (v) { return v === null || v === undefined ? "not known" : show(v); };
    return option;
  }

  function bars(data) {
    var option = shared();
    var values = data.values.map(function (v, i) {
      return data.red_from !== undefined && i >= data.red_from ? { value: v, itemStyle: { color: colour("--bad") } } : v;
    });
    option.series = [{ type: "bar", name: data.yname, data: values, barCategoryGap: "12%" }];
    option.xAxis = axis(data.xname, { type: "category", data: data.x, splitLine: { show: false } });
    option.yAxis = axis("", { type: "value", minInterval: 1 });
    option.tooltip.trigger = "axis";
    return option;
  }

  // Groups as boxes over two columns: the more people in a unit of area, the stronger the colour.
  function boxes(data) {
    var option = shared(), ink = colour("--c1");
    function at(labels, kind, v) {
      if (labels) return labels[Math.round(v)] === undefined ? "" : labels[Math.round(v)];
      if (kind === "date") return new Date(Math.round(v) * 864e5).toISOString().slice(0, 10);
      return kind === "number" ? String(+(+v).toPrecision(6)) : "";
    }
    function edge(labels, kind, name) {
      var mute = !labels && kind !== "number" && kind !== "date";
      return axis(mute ? name + " (values in their order)" : name, { type: "value", scale: true, splitLine: { show: false }, axisTick: { show: !mute }, axisLabel: {
        color: colour("--soft"), hideOverlap: true, show: !mute,
        formatter: function (v) { return labels && v % 1 ? "" : at(labels, kind, v); }
      }});
    }
    var low = [Infinity, Infinity], top = [-Infinity, -Infinity];
    data.boxes.forEach(function (b) {
      low = [Math.min(low[0], b[0]), Math.min(low[1], b[2])]; top = [Math.max(top[0], b[1]), Math.max(top[1], b[3])];
    });
    var wide = [(top[0] - low[0]) || 1, (top[1] - low[1]) || 1];
    var dense = data.boxes.map(function (b) {
      return b[4] / (((b[1] - b[0]) / wide[0] + 0.01) * ((b[3] - b[2]) / wide[1] + 0.01));
    });
    var most = Math.max.apply(null, dense.concat([1e-9]));
    var covered = 0;
    data.boxes.forEach(function (b) { covered += (b[1] - b[0]) / wide[0] * (b[3] - b[2]) / wide[1]; });
    var strength = Math.max(0.012, Math.min(0.6, 1.6 / Math.max(covered, 1)));
    option.xAxis = edge(data.xlabels, data.xkind, data.xname);
    option.yAxis = edge(data.ylabels, data.ykind, data.yname);
    option.yAxis.nameLocation = "end"; option.yAxis.nameGap = 10; option.grid.top = 34;
    option.yAxis.nameTextStyle.align = "left";
    [option.xAxis, option.yAxis].forEach(function (one, i) { one.min = low[i] - wide[i] * 0.02; one.max = top[i] + wide[i] * 0.02; one.axisLabel.showMinLabel = false; one.axisLabel.showMaxLabel = false; });
    option.series = [{
      type: "custom", data: data.boxes, encode: { x: [0, 1], y: [2, 3] }, clip: true,
      renderItem: function (params, api) {
        var a = api.coord([api.value(0), api.value(3)]), b = api.coord([api.value(1), api.value(2)]);
        var w = Math.max(b[0] - a[0], 3), h = Math.max(b[1] - a[1], 3);
        return {
          type: "rect", shape: { x: a[0] - (w === 3 ? 1.5 : 0), y: a[1] - (h === 3 ? 1.5 : 0), width: w, height: h },
          style: { fill: ink, fillOpacity: strength * (0.15 + Math.sqrt(dense[params.dataIndex] / most)), stroke: ink, strokeOpacity: Math.min(0.6, 0.15 + strength), lineWidth: 1 }
        };
      }
    }];
    option.tooltip.formatter = function (p) {
      var v = p.value;
      function side(name, labels, kind, low, high) {
        var a = at(labels, kind, low), b = at(labels, kind, high);
        return a === "" ? "" : "\n" + name + ": " + (a === b ? a : a + " to " + b);
      }
      return v[4] + " rows" + side(data.xname, data.xlabels, data.xkind, v[0] + data.xpad, v[1] - data.xpad) + side(data.yname, data.ylabels, data.ykind, v[2] + data.ypad, v[3] - data.ypad);
    };
    return option;
  }

  // The map of what `tune` tried: blur to the right, risk upwards; a click shows the settings of a point.
  function points(data) {
    var option = shared();
    function set(name, keep, mark, ink) {
      return {
        type: "scatter", name: name, symbol: mark, symbolSize: 13, itemStyle: { color: ink, opacity: 0.85, borderColor: colour("--card") },
        data: data.points.filter(keep).map(function (p) { return { value: [p.penalty, p.risk], index: p.index, name: p.label }; })
      };
    }
    option.series = [
      set("within the limit", function (p) { return p.feasible && !p.chosen; }, "circle", colour("--c3")),
      set("above the limit", function (p) { return !p.feasible && !p.chosen; }, "triangle", colour("--c2")),
      set("chosen", function (p) { return p.chosen; }, "diamond", colour("--c1"))
    ];
    option.series[2].symbolSize = 20;
    option.series[0].markLine = {
      symbol: "none", silent: true, lineStyle: { color: colour("--bad"), type: "dashed", width: 1.5 },
      label: { color: colour("--bad"), position: "insideEndTop", formatter: "{b}" },
      data: data.limits.map(function (one) { return { name: one.name, yAxis: one.value }; })
    };
    option.legend = { top: 0, left: 0, itemWidth: 14, textStyle: { color: colour("--ink") } };
    option.grid.top = 44;
    option.xAxis = axis(data.loss + ": less useful to the right", { type: "value", scale: true });
    option.yAxis = axis("", { type: "value", min: 0 });
    option.xAxis.axisLabel.formatter = option.yAxis.axisLabel.formatter = percent;
    option.tooltip.formatter = function (p) { return p.name + "\n" + data.loss + " " + percent(p.value[0]) + ", risk " + percent(p.value[1]); };
    return option;
  }

  var kinds = { lines: lines, bars: bars, boxes: boxes, points: points };

  // The library of charts is fetched by the first page that has one.
  function load() {
    if (loading) return;
    loading = true;
    var script = document.createElement("script");
    script.src = charts;
    script.addEventListener("load", function () { drawAll(document); });
    document.head.appendChild(script);
  }
  function draw(box) {
    if (!window.echarts) return load();
    var data = JSON.parse(document.getElementById(box.dataset.source).textContent);
    var chart = window.echarts.init(box);
    chart.setOption(kinds[data.kind](data));
    if (data.kind === "points") chart.on("click", function (p) { choose(p.data.index, true); });
    drawn.push({ box: box, chart: chart, data: data });
    box.dataset.drawn = "yes";
  }
  function drawAll(where) {
    drawn = drawn.filter(function (one) {
      if (document.contains(one.box)) return true;
      one.chart.dispose();
      return false;
    });
    where.querySelectorAll(".chart[data-source]:not([data-drawn])").forEach(draw);
  }

  // The settings of one point of the parameter map: its row is shown and marked.
  function choose(index, move) {
    document.querySelectorAll("[data-point]").forEach(function (panel) {
      panel.hidden = panel.dataset.point !== String(index);
    });
    document.querySelectorAll("[data-show-point]").forEach(function (button) {
      button.setAttribute("aria-pressed", String(button.dataset.showPoint === String(index)));
    });
    var panel = document.querySelector('[data-point="' + index + '"]');
    if (panel && move) panel.scrollIntoView({ block: "nearest" });
  }

  // Parameters of the method that is chosen in the new-series form.
  function showParameters() {
    var chosen = document.querySelector('input[name="publisher"]:checked');
    document.querySelectorAll("[data-parameters-of]").forEach(function (part) {
      var on = chosen && part.dataset.parametersOf === chosen.value;
      part.hidden = !on;
      part.querySelectorAll("input, select").forEach(function (field) { field.disabled = !on; });
    });
  }

  // Fields that count only while a box is ticked.
  function showTicked() {
    document.querySelectorAll("[data-when]").forEach(function (part) {
      var box = document.getElementById(part.dataset.when), on = box && box.checked;
      part.querySelectorAll("input, select").forEach(function (field) { field.disabled = !on; });
    });
  }

  document.addEventListener("click", function (event) {
    var button = event.target.closest("[data-show-point]");
    if (button) choose(button.dataset.showPoint, true);
  });
  document.addEventListener("change", function (event) {
    if (event.target.name === "publisher") showParameters();
    if (event.target.type === "checkbox") showTicked();
    var largest = event.target.type === "file" && Number(event.target.dataset.largest);
    if (largest) {
      var file = event.target.files[0], over = file && file.size > largest;
      event.target.setCustomValidity(over ? "This file is larger than the desk accepts (" + Math.round(largest / 1048576) + " MB)." : "");
      if (over) event.target.reportValidity();
    }
  });
  function busy(form, on) {
    form.querySelectorAll("button").forEach(function (button) { button.disabled = on; });
    var said = form.querySelector("[data-busy]");
    if (said) said.textContent = on ? said.dataset.busy : "";
    return said;
  }
  document.addEventListener("htmx:configRequest", function (event) {
    event.detail.headers["Accept"] = "text/html";
    if (event.detail.verb !== "get" && document.body.dataset.csrf) event.detail.headers["X-CSRF-Token"] = document.body.dataset.csrf;
  });
  document.addEventListener("htmx:beforeSend", function (event) {
    if (event.target.matches("form[method=post]")) busy(event.target, true);
  });
  // The desk was stopped, or the connection was lost: say so, and leave the form as it was.
  document.addEventListener("htmx:sendError", function (event) {
    var words = "The desk does not answer. Is it still running?";
    if (event.target.matches("form[method=post]")) {
      var said = busy(event.target, false);
      if (said) said.textContent = words;
    } else {
      var lost = event.target.querySelector("[data-lost]");
      if (lost) lost.textContent = words + " If it was stopped, start it again and look at the timeline: a release is published whole or not at all.";
    }
  });
  document.addEventListener("htmx:afterSwap", function (event) {
    drawAll(document);
    showParameters();
    showTicked();
    document.querySelectorAll("header nav a").forEach(function (link) {
      if (link.pathname === location.pathname || (link.pathname === "/new" && location.pathname.startsWith("/new/"))) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    });
    var verb = event.detail.requestConfig && event.detail.requestConfig.verb, main = document.getElementById("main");
    if (verb === "post" && main) main.focus({ preventScroll: true });
  });
  window.addEventListener("resize", function () { drawn.forEach(function (one) { one.chart.resize(); }); });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () {
    drawn.forEach(function (one) { one.chart.setOption(kinds[one.data.kind](one.data), true); });
  });
  drawAll(document);
  showParameters();
  showTicked();
})();
