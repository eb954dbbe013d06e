// Draws many points: with WebGL, or pixel by pixel on a plain canvas where there is none. Written by hand because the
// libraries that draw points compile code from strings, which the page's security policy forbids.
import type { Camera } from "./camera";

export interface Painter {
  kind: "WebGL" | "canvas";
  load(xs: Float32Array, ys: Float32Array, colours: Uint8Array): void;
  draw(camera: Camera, width: number, height: number, size: number): void;
  close(): void;
}

export function painter(canvas: HTMLCanvasElement): Painter {
  const gl = imitated() ? null : canvas.getContext("webgl", { antialias: false });
  return gl ? onGpu(gl) : onCanvas(canvas.getContext("2d")!);
}

/** Whether the processor plays the graphics card: then writing pixels is several times quicker than WebGL. */
function imitated(): boolean {
  const gl = document.createElement("canvas").getContext("webgl", { failIfMajorPerformanceCaveat: true });
  if (!gl) return true;
  const about = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(about ? about.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

const VERTEX = `
attribute vec2 place; attribute vec4 colour; uniform vec4 view; uniform float size; varying vec4 shade;
void main() { gl_Position = vec4((place - view.xy) * view.zw, 0.0, 1.0); gl_PointSize = size; shade = colour; }`;
const FRAGMENT = `
precision mediump float; varying vec4 shade;
void main() { float a = shade.a * smoothstep(0.5, 0.36, length(gl_PointCoord - 0.5)); gl_FragColor = vec4(shade.rgb * a, a); }`;

function onGpu(gl: WebGLRenderingContext): Painter {
  const program = gl.createProgram()!;
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
    const shader = gl.createShader(kind)!;
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  gl.useProgram(program);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  const [places, colours] = [gl.createBuffer(), gl.createBuffer()];
  let n = 0;
  function fill(buffer: WebGLBuffer | null, name: string, data: BufferSource, parts: number, kind: number, unit: boolean) {
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    const at = gl.getAttribLocation(program, name);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, parts, kind, unit, 0, 0);
  }
  return {
    kind: "WebGL",
    load(xs, ys, shades) {
      n = xs.length;
      const pairs = new Float32Array(2 * n);
      for (let i = 0; i < n; i++) {
        pairs[2 * i] = xs[i];
        pairs[2 * i + 1] = ys[i];
      }
      fill(places, "place", pairs, 2, gl.FLOAT, false);
      fill(colours, "colour", shades as Uint8Array<ArrayBuffer>, 4, gl.UNSIGNED_BYTE, true);
    },
    draw(camera, width, height, size) {
      gl.viewport(0, 0, width, height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.uniform4f(gl.getUniformLocation(program, "view"), camera.x, camera.y, 2 / camera.width, 2 / camera.height);
      gl.uniform1f(gl.getUniformLocation(program, "size"), size);
      if (n) gl.drawArrays(gl.POINTS, 0, n);
    },
    close: () => gl.getExtension("WEBGL_lose_context")?.loseContext(),
  };
}

function onCanvas(context: CanvasRenderingContext2D): Painter {
  let [xs, ys, shades] = [new Float32Array(), new Float32Array(), new Uint32Array()];
  let image: ImageData | null = null;
  return {
    kind: "canvas",
    load(x, y, colours) {
      [xs, ys, shades] = [x as Float32Array<ArrayBuffer>, y as Float32Array<ArrayBuffer>, new Uint32Array(colours.slice().buffer as ArrayBuffer)];
    },
    draw(camera, width, height, size) {
      if (!width || !height) return;
      if (image?.width !== width || image.height !== height) image = context.createImageData(width, height);
      const pixels = new Uint32Array(image.data.buffer);
      pixels.fill(0);
      const [sx, sy] = [width / camera.width, height / camera.height];
      const [ox, oy] = [width / 2 - camera.x * sx, height / 2 + camera.y * sy];
      const reach = Math.max(1, Math.round(size)) >> 1;
      const halves = [...Array(2 * reach + 1).keys()].map((row) => Math.floor(Math.sqrt((reach + 0.4) ** 2 - (row - reach) ** 2)));
      for (let i = 0; i < xs.length; i++) {
        const px = Math.round(ox + xs[i] * sx);
        const py = Math.round(oy - ys[i] * sy);
        if (!(px >= reach && py >= reach && px < width - reach && py < height - reach)) continue;
        for (let row = -reach; row <= reach; row++) {
          const start = (py + row) * width + px;
          const half = halves[row + reach];
          for (let column = -half; column <= half; column++) pixels[start + column] = shades[i];
        }
      }
      context.putImageData(image, 0, 0);
    },
    close: () => undefined,
  };
}
