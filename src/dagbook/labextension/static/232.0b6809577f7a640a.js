"use strict";(self.rspackChunkdagbook=self.rspackChunkdagbook||[]).push([[232],{8475(o,a,e){var r=e(1601),t=e.n(r),d=e(6314),n=(e.n(d))()(t());n.push([o.id,`/* Colours follow JupyterLab's theme where there is one. */
.dagbook {
  --db-text: var(--jp-ui-font-color1, #24292f);
  --db-faint: var(--jp-ui-font-color2, #57606a);
  --db-ground: var(--jp-layout-color1, #fff);
  --db-raised: var(--jp-layout-color2, #f6f8fa);
  --db-line: var(--jp-border-color2, #d0d7de);
  --db-none: #6e7781;
  --db-wait: #9a6700;
  --db-run: #0969da;
  --db-good: #1a7f37;
  --db-bad: #cf222e;
  --db-warn: #bc4c00;
  --db-skip: #bf3989;
  --db-defer: #8250df;
  color: var(--db-text);
  font: 13px/1.45 var(--jp-ui-font-family, system-ui, sans-serif);
}
[data-jp-theme-light='false'] .dagbook,
.vscode-dark .dagbook {
  --db-none: #8b949e;
  --db-wait: #d29922;
  --db-run: #58a6ff;
  --db-good: #3fb950;
  --db-bad: #ff7b72;
  --db-warn: #f0883e;
  --db-skip: #f778ba;
  --db-defer: #bc8cff;
}
.dagbook [data-look='none'] { --look: var(--db-none); }
.dagbook [data-look='wait'] { --look: var(--db-wait); }
.dagbook [data-look='run'] { --look: var(--db-run); }
.dagbook [data-look='good'] { --look: var(--db-good); }
.dagbook [data-look='bad'] { --look: var(--db-bad); }
.dagbook [data-look='warn'] { --look: var(--db-warn); }
.dagbook [data-look='skip'] { --look: var(--db-skip); }
.dagbook [data-look='defer'] { --look: var(--db-defer); }

.dagbook-run { background: var(--db-ground); border: 1px solid var(--db-line); border-radius: 6px; padding: 8px 12px; }
.dagbook-head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 10px; }
.dagbook-title { font-weight: 600; font-size: 14px; }
.dagbook-pill { color: var(--look); border: 1px solid var(--look); border-radius: 10px; padding: 0 8px; font-weight: 600; font-size: 12px; white-space: nowrap; }
.dagbook-faint { color: var(--db-faint); font-size: 12px; overflow-wrap: anywhere; }
.dagbook-reason { color: var(--db-warn); font-size: 12px; flex-basis: 100%; overflow-wrap: anywhere; }
.dagbook-reason:empty { display: none; }
.dagbook-graph { overflow: auto; margin-top: 6px; }
.dagbook-graph svg { display: block; }
.dagbook-edge { fill: none; stroke: var(--db-faint); stroke-width: 1.3; opacity: 0.65; }
.dagbook-arrow { fill: var(--db-faint); opacity: 0.65; }
.dagbook-node rect.box { fill: var(--db-ground); stroke: var(--look); stroke-width: 1.4; }
.dagbook-node rect.stack { fill: var(--db-raised); stroke: var(--look); stroke-width: 1; opacity: 0.75; }
.dagbook-node rect.bar { fill: var(--look); }
.dagbook-node rect.track { fill: var(--db-line); }
.dagbook-node text { fill: var(--db-text); font: 600 13px var(--jp-ui-font-family, system-ui, sans-serif); }
.dagbook-node text.words { fill: var(--look); font-weight: 500; font-size: 11.5px; }
.dagbook-node text.time { fill: var(--db-faint); font-weight: 400; font-size: 11px; }
.dagbook-node[role='button'] { cursor: pointer; }
.dagbook-node:focus { outline: none; }
.dagbook-node:focus-visible rect.box, .dagbook-node[role='button']:hover rect.box { stroke-width: 2.4; }
.dagbook-node[data-look='run'] rect.bar { animation: dagbook-pulse 1.2s ease-in-out infinite; }
@keyframes dagbook-pulse { 50% { opacity: 0.35; } }
@media (prefers-reduced-motion: reduce) { .dagbook-node rect.bar { animation: none !important; } }
.dagbook-log { margin-top: 8px; border-top: 1px solid var(--db-line); }
.dagbook-log[hidden] { display: none; }
.dagbook-log b { font-size: 12px; color: var(--db-faint); }
.dagbook pre.dagbook-text { margin: 2px 0 0; max-height: 15em; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; color: var(--db-text); background: none; font: 12px/1.45 var(--jp-code-font-family, ui-monospace, monospace); }

.dagbook-panel { display: flex; flex-direction: column; background: var(--db-ground); height: 100%; }
.dagbook-panel > header { padding: 8px; display: flex; gap: 6px; border-bottom: 1px solid var(--db-line); }
.dagbook input[type='search'], .dagbook select { font: inherit; color: var(--db-text); background: var(--db-raised); border: 1px solid var(--db-line); border-radius: 4px; padding: 3px 6px; min-width: 0; }
.dagbook-panel input[type='search'] { flex: 1; }
.dagbook-list { flex: 1; overflow: auto; margin: 0; padding: 0; list-style: none; }
.dagbook-row { padding: 7px 10px; border-bottom: 1px solid var(--db-line); cursor: pointer; }
.dagbook-row:hover, .dagbook-row:focus-within { background: var(--db-raised); }
.dagbook-line { display: flex; align-items: center; gap: 6px; }
.dagbook-name { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; text-align: left; font: inherit; font-weight: 600; background: none; border: 0; padding: 0; color: var(--db-text); cursor: pointer; }
.dagbook-tag { font-size: 11px; color: var(--db-faint); border: 1px solid var(--db-line); border-radius: 8px; padding: 0 6px; }
.dagbook-dots { display: flex; gap: 3px; margin-left: auto; }
.dagbook-dot { width: 14px; height: 14px; line-height: 13px; font-size: 10px; text-align: center; border-radius: 3px; color: var(--look); border: 1px solid var(--look); }
.dagbook-note { padding: 14px; color: var(--db-faint); }
.dagbook-note[data-look='bad'] { color: var(--db-bad); }
.dagbook-note:empty { display: none; }
.dagbook-note code { color: var(--db-text); }
.dagbook button.dagbook-button { font: inherit; font-size: 12px; color: var(--db-text); background: var(--db-raised); border: 1px solid var(--db-line); border-radius: 4px; padding: 2px 8px; cursor: pointer; white-space: nowrap; }
.dagbook button.dagbook-button:hover { border-color: var(--db-run); }
.dagbook button.dagbook-button[disabled] { opacity: 0.5; cursor: default; }
.dagbook button:focus-visible, .dagbook select:focus-visible, .dagbook input:focus-visible { outline: 2px solid var(--db-run); outline-offset: 1px; }

.dagbook-dag { background: var(--db-ground); overflow: auto; padding: 12px 16px; height: 100%; box-sizing: border-box; }
.dagbook-bar { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin-bottom: 10px; }
.dagbook-bar h2 { margin: 0 8px 0 0; font-size: 17px; }
.dagbook-detail { margin-top: 12px; }
.dagbook-detail h3 { margin: 0 0 6px; font-size: 14px; }
.dagbook table { border-collapse: collapse; font-size: 12px; margin-bottom: 8px; }
.dagbook th { text-align: left; color: var(--db-faint); font-weight: 500; }
.dagbook th, .dagbook td { padding: 3px 14px 3px 0; border-bottom: 1px solid var(--db-line); }
.dagbook tr[aria-selected='true'] { background: var(--db-raised); }
.dagbook td.state { color: var(--look); font-weight: 600; white-space: nowrap; }
`,""]),e.d(a,{},{A:n})},6314(o){o.exports=function(o){var a=[];return a.toString=function(){return this.map(function(a){var e="",r=void 0!==a[5];return a[4]&&(e+="@supports (".concat(a[4],") {")),a[2]&&(e+="@media ".concat(a[2]," {")),r&&(e+="@layer".concat(a[5].length>0?" ".concat(a[5]):""," {")),e+=o(a),r&&(e+="}"),a[2]&&(e+="}"),a[4]&&(e+="}"),e}).join("")},a.i=function(o,e,r,t,d){"string"==typeof o&&(o=[[null,o,void 0]]);var n={};if(r)for(var i=0;i<this.length;i++){var l=this[i][0];null!=l&&(n[l]=!0)}for(var b=0;b<o.length;b++){var p=[].concat(o[b]);r&&n[p[0]]||(void 0!==d&&(void 0===p[5]||(p[1]="@layer".concat(p[5].length>0?" ".concat(p[5]):""," {").concat(p[1],"}")),p[5]=d),e&&(p[2]&&(p[1]="@media ".concat(p[2]," {").concat(p[1],"}")),p[2]=e),t&&(p[4]?(p[1]="@supports (".concat(p[4],") {").concat(p[1],"}"),p[4]=t):p[4]="".concat(t)),a.push(p))}},a}},1601(o){o.exports=function(o){return o[1]}},5072(o){var a=[];function e(o){for(var e=-1,r=0;r<a.length;r++)if(a[r].identifier===o){e=r;break}return e}function r(o,r){for(var t={},d=[],n=0;n<o.length;n++){var i=o[n],l=r.base?i[0]+r.base:i[0],b=t[l]||0,p="".concat(l," ").concat(b);t[l]=b+1;var s=e(p),c={css:i[1],media:i[2],sourceMap:i[3],supports:i[4],layer:i[5]};if(-1!==s)a[s].references++,a[s].updater(c);else{var f=function(o,a){var e=a.domAPI(a);return e.update(o),function(a){a?(a.css!==o.css||a.media!==o.media||a.sourceMap!==o.sourceMap||a.supports!==o.supports||a.layer!==o.layer)&&e.update(o=a):e.remove()}}(c,r);r.byIndex=n,a.splice(n,0,{identifier:p,updater:f,references:1})}d.push(p)}return d}o.exports=function(o,t){var d=r(o=o||[],t=t||{});return function(o){o=o||[];for(var n=0;n<d.length;n++){var i=e(d[n]);a[i].references--}for(var l=r(o,t),b=0;b<d.length;b++){var p=e(d[b]);0===a[p].references&&(a[p].updater(),a.splice(p,1))}d=l}}},7659(o){var a={};o.exports=function(o,e){var r=function(o){if(void 0===a[o]){var e=document.querySelector(o);if(window.HTMLIFrameElement&&e instanceof window.HTMLIFrameElement)try{e=e.contentDocument.head}catch(o){e=null}a[o]=e}return a[o]}(o);if(!r)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");r.appendChild(e)}},540(o){o.exports=function(o){var a=document.createElement("style");return o.setAttributes(a,o.attributes),o.insert(a,o.options),a}},5056(o,a,e){o.exports=function(o){var a=e.nc;a&&o.setAttribute("nonce",a)}},7825(o){o.exports=function(o){if("u"<typeof document)return{update:function(){},remove:function(){}};var a=o.insertStyleElement(o);return{update:function(e){var r,t,d;r="",e.supports&&(r+="@supports (".concat(e.supports,") {")),e.media&&(r+="@media ".concat(e.media," {")),(t=void 0!==e.layer)&&(r+="@layer".concat(e.layer.length>0?" ".concat(e.layer):""," {")),r+=e.css,t&&(r+="}"),e.media&&(r+="}"),e.supports&&(r+="}"),(d=e.sourceMap)&&"u">typeof btoa&&(r+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(d))))," */")),o.styleTagTransform(r,a,o.options)},remove:function(){var o;null===(o=a).parentNode||o.parentNode.removeChild(o)}}}},1113(o){o.exports=function(o,a){if(a.styleSheet)a.styleSheet.cssText=o;else{for(;a.firstChild;)a.removeChild(a.firstChild);a.appendChild(document.createTextNode(o))}}},8579(o,a,e){var r=e(5072),t=e.n(r),d=e(7825),n=e.n(d),i=e(7659),l=e.n(i),b=e(5056),p=e.n(b),s=e(540),c=e.n(s),f=e(1113),g=e.n(f),u=e(8475),k={};k.styleTagTransform=g(),k.setAttributes=p(),k.insert=l().bind(null,"head"),k.domAPI=n(),k.insertStyleElement=c(),t()(u.A,k),u.A&&u.A.locals&&u.A.locals}}]);