/* Search without a server. A browser starts no worker for a page that was opened as a file: there the script of the
   worker runs in a hidden frame instead, which is handed messages in the same way. */
(function () {
  if (location.protocol !== "file:") return

  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.onmessage = null
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.appendChild(this.frame)

      const inside = this.frame.contentWindow
      inside.postMessage = data => {
        const message = new MessageEvent("message", { data })
        this.dispatchEvent(message)
        if (this.onmessage) this.onmessage(message)
      }
      const load = address => new Promise((done, failed) => {
        const script = inside.document.createElement("script")
        script.src = address
        script.onload = done
        script.onerror = failed
        inside.document.body.appendChild(script)
      })
      inside.importScripts = (...addresses) =>
        addresses.reduce((before, address) => before.then(() => load(address)), Promise.resolve())
      load(new URL(url, location.href).href).then(() => {
        const waiting = this.waiting
        this.waiting = null
        waiting.forEach(data => this.hand(data))
      })
    }

    hand(data) {
      const inside = this.frame.contentWindow
      inside.dispatchEvent(new inside.MessageEvent("message", { data }))
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.hand(data)
    }

    terminate() {
      this.frame.remove()
    }
  }
})()
